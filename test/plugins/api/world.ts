import { afterAll, beforeAll } from 'vitest';
import type { RouteInfo } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { startForum, type Answer, type TestForum } from 'parley-forum/testing';

const PASSWORD = 'Plain-Sailing-42';
/** Members of the forum with their groups; `ada` owns what the tests request. */
const MEMBERS = {
  ada: 'member',
  bob: 'member',
  mia: 'moderator',
  root: 'admin',
  bad: 'banned',
  lost: 'member',
} as const;
export type Name = keyof typeof MEMBERS;

/** A call of the API: path parameters, query and body. */
export interface Ask {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** The whole forum with members that use bearer tokens; the token of `lost` is revoked. */
export interface World {
  readonly app: TestForum;
  readonly ids: Readonly<Record<Name, string>>;
  /** Bearer tokens. */
  readonly tokens: Readonly<Record<Name, string>>;
  /** Every route of the API. */
  routes(): readonly RouteInfo[];
  /** Without `who`, calls as a guest, whose writes include a CSRF token. */
  call(
    who: Name | undefined,
    method: string,
    path: string,
    ask?: Ask,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
  /** Like `call`, but throws unless it succeeds. */
  must(who: Name, method: string, path: string, ask?: Ask): Promise<any>;
  /** Uploads a file and resolves to its id. */
  upload(who: Name): Promise<string>;
}

/** In addition to the limits that every test relaxes. */
const LENIENT = Object.fromEntries(
  ['presence', 'search', 'reports', 'message-reports', 'uploads', 'bookmarks', 'drafts'].map((name) => [
    `${name}.rate_limit`,
    100_000,
  ]),
);

/** Streams continue until the client disconnects. */
export const isStream = ({ options }: RouteInfo): boolean => options['document'] === 'text/event-stream';

/** The name of a route in tables: `GET /discussions/:id`. */
export const nameOf = ({ method, path }: RouteInfo): string => `${method.toUpperCase()} ${path}`;

/** Lists are the routes whose response has `hasMore`. */
export const isList = ({ result }: RouteInfo): boolean =>
  'hasMore' in ((result as { properties?: object } | undefined)?.properties ?? {});

/** One forum for a test file. */
export function useWorld(settings: Readonly<Record<string, unknown>> = {}): World {
  const world = {} as { -readonly [K in keyof World]: World[K] };
  beforeAll(async () => Object.assign(world, await open(settings)));
  afterAll(() => world.app[Symbol.asyncDispose]());
  return world;
}

/** The head of a response, without waiting for its body. */
async function begun(url: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const leaving = new AbortController();
  const answer = await fetch(url, { headers, signal: leaving.signal });
  leaving.abort();
  return { status: answer.status, headers: answer.headers, text: '', body: undefined };
}

async function open(settings: Readonly<Record<string, unknown>>): Promise<World> {
  const app = await startForum({ settings: { ...LENIENT, ...settings } });
  const accounts = app.app.service(Accounts);
  const [ids, tokens] = [{} as Record<Name, string>, {} as Record<Name, string>];
  for (const [name, groupId] of Object.entries(MEMBERS) as [Name, string][]) {
    ids[name] = (
      await accounts.create({ username: name, email: `${name}@forum.test`, password: PASSWORD, groupId })
    ).id;
    const client = app.client();
    await client.login(name, PASSWORD);
    tokens[name] = (await client.post('/settings/security/api-token', undefined, { accept: 'application/json' })).body
      .token as string;
    if (name === 'lost')
      await client.post('/settings/security/api-token/revoke', undefined, { accept: 'application/json' });
  }
  const guest = app.client();
  await guest.csrf('/');
  const client = app.client();
  const world: World = {
    app,
    ids,
    tokens,
    routes: () => app.app.routes.list().filter(({ surface }) => surface.id === 'api'),
    call: (who, method, path, { params = {}, query, body } = {}, headers = {}) => {
      const address = `/api${path.replace(/[:*](\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? `:${name}`))}${query ? `?${new URLSearchParams(query).toString()}` : ''}`;
      const own = who === undefined ? {} : { authorization: `Bearer ${tokens[who]}` };
      if (world.routes().some((route) => route.path === path && isStream(route)))
        return begun(app.url + address, { ...own, ...headers });
      return (who === undefined ? guest : client).request(method, address, {
        headers: { ...own, ...headers },
        json: body,
      });
    },
    async must(who, method, path, ask) {
      const answer = await world.call(who, method, path, ask);
      if (answer.status > 299)
        throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text.slice(0, 300)}`);
      return answer.body;
    },
    async upload(who) {
      const body = new FormData();
      body.append('file', new Blob([`Of ${who}`]), 'words.txt');
      const answer = await client.request('POST', '/api/uploads', {
        body,
        headers: { authorization: `Bearer ${tokens[who]}` },
      });
      if (answer.status > 299) throw new Error(`uploading answered ${answer.status}: ${answer.text.slice(0, 300)}`);
      return answer.body.upload.id as string;
    },
  };
  return world;
}
