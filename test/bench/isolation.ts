import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeSite } from '../core/fixtures/own-site.ts';
import { failed, readAll } from '../core/fixtures/readers.ts';
import { startServer } from '../core/fixtures/server-process.ts';
import { createClient } from '../kit/client.ts';
import { MEMBER, type Prepared } from './data.ts';
import { CONNECTIONS } from './load.ts';
import type { Result } from './report.ts';

/**
 * What the plugin does wrong; the last one ends it. Work that never pauses is left out, since it holds up everybody for
 * as long as it lasts.
 */
const MODES = [
  'promise rejects',
  'action hangs',
  'action throws',
  'filter hangs',
  'filter throws',
  'check hangs',
  'check throws',
  'query hangs',
  'query throws',
  'slot hangs',
  'slot throws',
  'job hangs',
  'timer throws',
];
/**
 * How many ask the plugin itself meanwhile: they wait for its answer as long as one may, so that their times say
 * nothing of the others'.
 */
const ASKERS = 4;
/** Milliseconds between two posts that are written meanwhile. */
const PAUSE = 100;
const RAISED = 1_000_000_000;
const LIMITS = [
  'api.rate_limit_user',
  'api.rate_limit_ip',
  'posts.rate_limit',
  'pages.rate_limit',
  'login.attempt_rate_limit',
];
const JSON_ONLY = { accept: 'application/json' };

/** How long 99 of 100 answers take at most while a plugin misbehaves, beside the same without. */
export async function measureIsolation(
  environment: Readonly<Record<string, string>>,
  { discussions, short }: Prepared,
  seconds: number,
): Promise<readonly Result[]> {
  await using site = await makeSite(
    join(import.meta.dirname, '../core/fixtures/saboteur'),
    Object.fromEntries(LIMITS.map((key) => [key, RAISED])),
  );
  const place = {
    folder: environment['DATA_DIR']!,
    url: environment['DATABASE_URL'] || undefined,
    remove: () => Promise.resolve(),
  };
  const server = await startServer(place, undefined, { PARLEY_SITE: site.folder });
  try {
    const [member, admin] = [createClient(server.url), createClient(server.url)];
    await member.login(MEMBER.username, MEMBER.password);
    await admin.login('bench-admin', MEMBER.password);
    const setMode = (mode: string): Promise<unknown> => member.post(`/saboteur/${encodeURIComponent(mode)}`);
    const address = (await member.get(`/d/${short}`)).headers.get('location') ?? `/d/${short}`;
    const p99 = async (): Promise<number> => {
      const clients = Array.from({ length: CONNECTIONS }, (_, at) =>
        at % 4 === 0 ? member : createClient(server.url),
      );
      const readers = readAll({ clients, paths: ['/', address, '/api/discussions'], wrong: failed });
      const askers = readAll({ clients: clients.slice(0, ASKERS), paths: ['/ask-saboteur'], wrong: failed });
      for (const end = performance.now() + seconds * 1_000; performance.now() < end; await sleep(PAUSE)) {
        await member.post('/api/posts', { discussion_id: discussions[0], content: `Written at ${performance.now()}` });
      }
      const wrong = [...(await readers.stop()), ...(await askers.stop())];
      if (wrong.length > 0) throw new Error(`answers failed: ${wrong.join('; ')}`);
      return readers.times.toSorted((a, b) => a - b)[Math.floor(readers.count * 0.99)]!;
    };
    await p99();
    const results: Result[] = [];
    for (const mode of MODES) {
      const well = await p99();
      await setMode(mode);
      const ill = await p99();
      await setMode('well');
      await admin.post('/admin/plugins/release', { id: 'saboteur' }, JSON_ONLY);
      results.push({
        name: `99 of 100 answers while a plugin's ${mode}`,
        value: ill,
        unit: `ms, without ${Math.round(well)} ms`,
        ratio: ill / well,
        goal: 1.5,
        atMost: true,
      });
    }
    return results;
  } finally {
    await server.end('SIGKILL');
  }
}
