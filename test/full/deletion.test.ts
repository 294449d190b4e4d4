import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import configuration from '../../config/forum.ts';
import { PLATFORM } from '../../config/tools/checks/support/platform.ts';
import { KERNEL, PLUGINS } from '../../config/tools/journeys.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const COPIED = ['core', 'plugins', 'migrations', 'themes', 'config', 'test', 'docs', 'package.json', 'tsconfig.json'];
/** Features that require another one, by that one; features that are not listed require none. */
const LEAVING: Readonly<Record<string, readonly string[]>> = {
  discussions: [
    'answers',
    'approval',
    'bookmarks',
    'demo',
    'drafts',
    'feeds',
    'first-steps',
    'imports',
    'link-previews',
    'live',
    'members',
    'message-reports',
    'moderation',
    'notifications',
    'pro-feeds',
    'push',
    'reactions',
    'read-marks',
    'reports',
    'search',
    'sharing',
    'sitemap',
    'slow-mode',
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
  messages: ['message-reports'],
  notifications: ['push'],
  presence: ['typing'],
  reports: ['message-reports', 'moderation'],
};

let folder: string;
/** The data of a forum installed with all features, as they are removed from a forum in use. */
const installed = (): string => join(folder, 'installed');
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-deletion-'));
  for (const name of COPIED) await cp(join(ROOT, name), join(folder, name), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const admin = ['--admin-username', 'root', '--admin-email', 'root@forum.test', '--admin-password', 'Correct-horse 7'];
  const options = { cwd: folder, env: environment(installed()) };
  await promisify(execFile)(process.execPath, ['core/cli/main.ts', 'install', ...admin], options);
}, 60_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The environment of a shell without any servers configured. */
const environment = (data: string): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: process.env['HOME'],
  DATA_DIR: data,
  PORT: '0',
});

/** Starts the program from the current folder; resolves to the status of its front page and to its log. */
async function start(): Promise<{ readonly status: number; readonly lines: readonly LogLine[] }> {
  const data = await mkdtemp(join(tmpdir(), 'parley-deletion-data-'));
  await cp(installed(), data, { recursive: true });
  const child = spawn(process.execPath, ['core/main.ts'], {
    cwd: folder,
    env: environment(data),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
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
  void closed.then(([code]) => reject(new Error(`ended with ${code}: ${JSON.stringify(lines.slice(-5))}`)));
  try {
    const { status } = await fetch(await address);
    return { status, lines };
  } finally {
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

/** Journeys that use a removed feature without naming it. */
const THROUGH: Readonly<Record<string, readonly string[]>> = {
  'account-mail': ['recovery/reset'],
  moderation: ['approval/pages'],
  'pro-feeds': ['privacy/export', 'recovery/reset'],
  subscriptions: ['read-marks/read-marks'],
};

/** The journeys that do not mention what was removed: the features they test must work without it. */
async function journeysWithout(left: readonly string[]): Promise<readonly string[]> {
  const named = new RegExp(`\\b(?:${left.join('|')})\\b`);
  const texts = await Promise.all(
    [...KERNEL, ...PLUGINS].map(async (file) => ({ file, text: await readFile(join(ROOT, file), 'utf8') })),
  );
  const through = left.flatMap((id) => THROUGH[id] ?? []).map((name) => `test/plugins/${name}.test.ts`);
  return texts.filter(({ file, text }) => !named.test(file + text) && !through.includes(file)).map(({ file }) => file);
}

/** Runs tests in the current folder; resolves to the exit code and the output. */
function runTests(files: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((ended) => {
    const { PARLEY_FULL: _, ...env } = process.env;
    const words = ['run', '--config', 'config/vitest.ts', '--reporter=dot', ...files];
    const command = [join(ROOT, 'node_modules/vitest/vitest.mjs'), ...words];
    execFile(process.execPath, command, { cwd: folder, env, timeout: 600_000 }, (error, stdout, stderr) =>
      ended({ code: error ? 1 : 0, output: stdout + stderr }),
    );
  });
}

describe('without the folder of', () => {
  const features = configuration.plugins.filter((id) => !PLATFORM.includes(id));
  test.each(features)(
    '%s the rest starts and passes its tests, and one line lists the plugins that stay off',
    async (id) => {
      const leaving = [id, ...(LEAVING[id] ?? [])];
      const remove = (plugin: string): Promise<void> => rm(join(folder, 'plugins', plugin), { recursive: true });
      await remove(id);
      try {
        const { status, lines } = await start();
        // The front page is the list of discussions.
        expect(status).toBe(id === 'discussions' ? 404 : 200);
        const left = lines.find(({ msg }) => msg.startsWith('these plugins stay off'))?.plugins;
        expect(left?.toSorted()).toEqual(leaving.toSorted());
        await Promise.all((LEAVING[id] ?? []).map(remove));
        const { code, output } = await runTests(await journeysWithout(leaving));
        expect(code, output).toBe(0);
      } finally {
        await cp(join(ROOT, 'plugins'), join(folder, 'plugins'), { recursive: true });
      }
    },
    700_000,
  );
});
