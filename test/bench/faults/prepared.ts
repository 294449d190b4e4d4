import { cpSync, rmSync } from 'node:fs';
import pg from 'pg';
import { createClient } from 'parley-forum/testing';
import { parley, startServer } from '../../core/fixtures/server-process.ts';
import type { TestPlace } from '../../kit/database.ts';

export const PASSWORD = 'Plain-Sailing-42';
export const JSON_ONLY = { accept: 'application/json' };
/** Nobody is kept from writing by how much they write. */
const SETTINGS = {
  'api.rate_limit_user': 1_000_000,
  'api.rate_limit_ip': 1_000_000,
  'posts.rate_limit': 1_000_000,
  'discussions.rate_limit': 1_000_000,
  'search.rate_limit': 100_000,
  'webhooks.retry_delays': [1, 1, 1, 1, 1],
};
const DISCUSSIONS = 3;

/** An installed forum with one member, an admin, that nobody serves. */
export interface Prepared {
  readonly place: TestPlace;
  /** The member's bearer token. */
  readonly token: string;
  /** Public ids of the discussions that are written in. */
  readonly discussions: readonly string[];
}

export async function prepare(place: TestPlace): Promise<Prepared> {
  await parley(
    place,
    'install',
    '--admin-username',
    'root',
    '--admin-email',
    'root@forum.test',
    '--admin-password',
    PASSWORD,
  );
  const server = await startServer(place);
  const client = createClient(server.url);
  await client.login('root', PASSWORD);
  const { status, text } = await client.post('/admin/settings/save', SETTINGS, JSON_ONLY);
  if (status !== 200) throw new Error(`the limits cannot be raised: ${text}`);
  const { token } = (await client.post('/settings/security/api-token', undefined, JSON_ONLY)).body as { token: string };
  const discussions: string[] = [];
  for (let at = 0; at < DISCUSSIONS; at++) {
    const { body } = await client.post('/api/discussions', {
      title: `Journal ${at}`,
      content: 'The beginning',
      category_id: 'general',
    });
    discussions.push(body.discussion_id);
  }
  await server.end('SIGTERM');
  return { place, token, discussions };
}

/** Copies of one prepared forum: each takes a fraction of what installing takes. */
export class Copies implements AsyncDisposable {
  readonly #place: () => Promise<TestPlace>;
  #original: Promise<Prepared> | undefined;

  constructor(place: () => Promise<TestPlace>) {
    this.#place = place;
  }

  /** Its place is removed by whoever asked for it. */
  async next(): Promise<Prepared> {
    const original = await (this.#original ??= this.#place().then(prepare));
    const place = await this.#place();
    // Nothing may be left of what the place came with.
    rmSync(place.folder, { recursive: true });
    cpSync(original.place.folder, place.folder, { recursive: true, filter: (path) => !path.endsWith('.sock') });
    if (original.place.url !== undefined) await copyDatabase(new URL(original.place.url), new URL(place.url!));
    return { ...original, place };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#original)?.place.remove();
  }
}

async function copyDatabase(from: URL, to: URL): Promise<void> {
  const [original, name] = [from.pathname.slice(1), to.pathname.slice(1)];
  const maintenance = new URL(to);
  maintenance.pathname = '/postgres';
  const client = new pg.Client(maintenance.href);
  await client.connect();
  try {
    await client.query(`drop database ${name}`);
    await client.query(`create database ${name} template ${original}`);
  } finally {
    await client.end();
  }
}
