import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import configuration from '../../config/forum.ts';
import { PLATFORM } from '../../config/tools/checks/support/platform.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const COPIED = ['core', 'plugins', 'migrations', 'themes', 'config', 'package.json', 'tsconfig.json'];
/** Features that are built on another one, by that one; what is not here is built on none. */
const LEAVING: Readonly<Record<string, readonly string[]>> = {
  discussions: [
    'demo',
    'feeds',
    'live',
    'moderation',
    'notifications',
    'pro-feeds',
    'reactions',
    'reports',
    'search',
    'sitemap',
    'subscriptions',
    'tags',
    'typing',
    'uploads',
    'webhooks',
  ],
  events: ['live'],
  feeds: ['pro-feeds'],
  installer: ['demo'],
  mail: ['account-mail', 'recovery'],
  presence: ['typing'],
  reports: ['moderation'],
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-deletion-'));
  for (const name of COPIED) await cp(join(ROOT, name), join(folder, name), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Starts the program as it is in the folder now; resolves to what its front page answers and to what it logged. */
async function start(): Promise<{ readonly status: number; readonly lines: readonly LogLine[] }> {
  const data = await mkdtemp(join(tmpdir(), 'parley-deletion-data-'));
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], DATA_DIR: data, PORT: '0' };
  const child = spawn(process.execPath, ['core/main.ts'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: LogLine[] = [];
  let text = '';
  const { promise: address, resolve: listening, reject } = Promise.withResolvers<string>();
  child.stdout.setEncoding('utf8').on('data', (more: string) => {
    const whole = (text + more).split('\n');
    text = whole.pop() ?? '';
    for (const line of whole.filter((one) => one.startsWith('{'))) {
      const entry = JSON.parse(line) as LogLine;
      lines.push(entry);
      if (entry.msg === 'listening') listening(entry.address ?? '');
    }
  });
  child.once('close', (code) => reject(new Error(`ended with ${code}: ${JSON.stringify(lines.slice(-5))}`)));
  try {
    const { status } = await fetch(await address);
    return { status, lines };
  } finally {
    const closed = once(child, 'close');
    child.kill('SIGTERM');
    await closed;
    await rm(data, { recursive: true, force: true });
  }
}
interface LogLine {
  readonly msg: string;
  readonly address?: string;
  readonly plugins?: readonly string[];
}

describe('without the folder of', () => {
  const features = configuration.plugins.filter((id) => !PLATFORM.includes(id));
  test.each(features)(
    '%s the rest starts, and one line says which plugins left with it',
    async (id) => {
      await rm(join(folder, 'plugins', id), { recursive: true });
      const { status, lines } = await start().finally(() =>
        cp(join(ROOT, 'plugins', id), join(folder, 'plugins', id), { recursive: true }),
      );
      expect(status).toBeLessThan(500);
      const left = lines.find(({ msg }) => msg.startsWith('these plugins stay off'))?.plugins;
      expect(left?.toSorted()).toEqual([id, ...(LEAVING[id] ?? [])].toSorted());
    },
    60_000,
  );
});
