import { Agent, request, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, unzipSync, zstdDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RouteInfo } from 'parley-forum';
import { FULL } from '../../kit/full.ts';
import { createHostile, randomFrom, type Hostile } from './hostile.ts';
import { nameOf, useWorld, type Name } from './world.ts';

const REQUESTS = FULL ? 60_000 : 3_000;
const SEED = 20_260_115;
/** Concurrent requests. */
const AT_ONCE = 8;

const world = useWorld();
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
/** Texts that refer to something, so that not every request ends with a 404. */
let known: readonly string[];
beforeAll(async () => {
  const { discussion, post_id: post } = await world.must('ada', 'POST', '/discussions', {
    body: { title: 'A target', content: 'x', category_id: 'general', tags: ['boats'] },
  });
  known = [
    discussion.id,
    String(discussion.number),
    post,
    world.ids.ada,
    world.ids.bob,
    'general',
    'boats',
    'like',
    'spam',
    '/',
    'words',
  ];
});
afterAll(() => agent.destroy());

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer | undefined;
}
interface Got {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

function decoded(bytes: Buffer, encoding: string | undefined): Buffer {
  if (bytes.length === 0 || encoding === undefined) return bytes;
  return encoding === 'br'
    ? brotliDecompressSync(bytes)
    : encoding === 'zstd'
      ? zstdDecompressSync(bytes)
      : unzipSync(bytes);
}

const send = ({ method, path, headers, bytes }: Sent): Promise<Got> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(world.app.url);
    const under = request(
      {
        hostname,
        port,
        method,
        path,
        headers: { ...headers, ...(bytes && { 'content-length': String(bytes.length) }) },
        agent,
      },
      (answer) => {
        const done = (body: string): void =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: body });
        // A stream does not end on its own.
        if (answer.headers['content-type']?.startsWith('text/event-stream')) {
          answer.destroy();
          done('');
        } else
          buffer(answer).then((bytes) => done(decoded(bytes, answer.headers['content-encoding']).toString()), reject);
      },
    );
    under.on('error', reject);
    under.end(bytes);
  });

const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'QUERY', 'PURGE'];
const HEADERS: readonly Readonly<Record<string, string>>[] = [
  {},
  {},
  {},
  {},
  { accept: 'text/html' },
  { 'accept-encoding': 'gzip' },
  { 'if-none-match': '*' },
  { 'if-none-match': 'W/"x", , "' },
  { 'idempotency-key': 'the same for all' },
  { 'idempotency-key': '' },
  { origin: 'null' },
  { 'content-encoding': 'gzip' },
  { cookie: 'parley.sid=s%3Anonsense; a=%zz; =; parley.sid=' },
  { 'x-forwarded-for': '1.1.1.1, ::ffff:x, "' },
  { 'accept-encoding': 'gzip;q=0, *' },
  { range: 'bytes=0-1' },
  { 'last-event-id': '-1' },
  { 'accept-language': '*;q=x' },
];
const CALLERS: readonly (Name | undefined)[] = ['ada', 'bob', 'mia', 'root', 'bad', 'lost', undefined, undefined];

function encoded(hostile: Hostile, value: string): string {
  if (hostile.chance(0.05))
    return hostile.pick(['%', '%ff', '%zz', '%C0%AF', '%u0041', '..', '.', '%2e%2e%2f', '%00', ';a=b']);
  return encodeURIComponent(value.toWellFormed());
}

function queryOf(hostile: Hostile, { query }: RouteInfo): string {
  const parts = Object.entries(
    (query as { properties?: Record<string, Record<string, unknown>> } | undefined)?.properties ?? {},
  )
    .filter(() => hostile.chance(0.4))
    .flatMap(([name, schema]) => {
      const spelled = hostile.pick([name, name, name, name, `${name}[]`, `${name}[$gt]`, name.toUpperCase()]);
      const one = (): string => {
        const value = hostile.value(schema, known);
        return `${spelled}=${encoded(hostile, typeof value === 'string' ? value : JSON.stringify(value))}`;
      };
      return hostile.chance(0.1) ? [one(), one()] : [one()];
    });
  if (hostile.chance(0.1))
    parts.push(hostile.pick(['__proto__[x]=1', '=', '&&', '%ff=%ff', 'a'.repeat(3_000), 'constructor=1', 'toString']));
  return parts.length > 0 ? `?${parts.join('&')}` : '';
}

function requestOf(hostile: Hostile, routes: readonly RouteInfo[]): Sent & { readonly route: string } {
  const route = hostile.pick(routes);
  const path = `/api${route.path.replace(/[:*]\w+/g, () => encoded(hostile, hostile.chance(0.5) ? hostile.pick(known) : hostile.text().slice(0, 2_000)) || 'x')}`;
  const method = hostile.chance(0.9) ? route.method.toUpperCase() : hostile.pick(METHODS);
  const { bytes, type } =
    method === 'GET' || method === 'HEAD'
      ? { bytes: undefined, type: undefined }
      : hostile.body(route.body as Record<string, unknown> | undefined, known);
  const caller = hostile.pick(CALLERS);
  return {
    route: nameOf(route),
    method,
    bytes,
    path:
      (hostile.chance(0.03)
        ? path.replace('/api/', hostile.pick(['/api//', '/api/./', '/api/%2f', '/API/', '/api/x/../']))
        : path) + queryOf(hostile, route),
    headers: {
      ...(caller && { authorization: `Bearer ${world.tokens[caller]}` }),
      ...(type !== undefined && { 'content-type': type }),
      ...hostile.pick(HEADERS),
    },
  };
}

const LIMIT_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
/** Paths that do not respond with JSON. */
const OTHER_TYPES = /^\/api\/+(\.\/|x\/\.\.\/)?(docs|live)/;

/** What is wrong with a response, if anything. */
function faultOf({ status, headers, text: body }: Got, { method, path }: Sent): string | undefined {
  // Only search may time out.
  if (status >= 500 && !(status === 503 && path.startsWith('/api/search'))) return `status ${status}`;
  if (!path.startsWith('/api/')) return undefined;
  const missing = LIMIT_HEADERS.find((name) => !/^\d+$/.test(String(headers[name])));
  if (missing) return `no ${missing}`;
  if (method === 'HEAD' || status === 304 || status === 204)
    return body === '' ? undefined : 'a body where there may be none';
  if (!headers['content-type']?.startsWith('application/json'))
    return status === 200 && OTHER_TYPES.test(path) ? undefined : `content type ${headers['content-type']}`;
  return envelopeFaultOf(status, JSON.parse(body) as Record<string, unknown>, headers['x-request-id']);
}

/** What is wrong with the JSON envelope of a response, if anything. */
function envelopeFaultOf(status: number, answer: Record<string, unknown>, requestId: unknown): string | undefined {
  if (answer['openapi'] !== undefined) return undefined;
  if (status < 400) return answer['success'] === true ? undefined : 'no success';
  const whole =
    answer['success'] === false &&
    typeof answer['error'] === 'string' &&
    typeof answer['code'] === 'string' &&
    answer['request_id'] === requestId;
  return whole ? undefined : 'no failure envelope';
}

test(
  `${REQUESTS} random and hostile requests each get a response in the documented form`,
  async () => {
    const hostile = createHostile(randomFrom(SEED));
    const routes = world.routes();
    const faults: unknown[] = [];
    const answered = new Map<string, number>();
    let left = REQUESTS;
    const ask = async (): Promise<void> => {
      while (left-- > 0) {
        const sent = requestOf(hostile, routes);
        const got = await send(sent);
        answered.set(`${Math.floor(got.status / 100)}xx`, (answered.get(`${Math.floor(got.status / 100)}xx`) ?? 0) + 1);
        const fault = faultOf(got, sent);
        if (fault)
          faults.push({ fault, ...sent, bytes: sent.bytes?.toString().slice(0, 300), answer: got.text.slice(0, 300) });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, ask));
    expect(faults.slice(0, 10)).toEqual([]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    // The test would be pointless if every request was refused up front.
    expect(answered.get('2xx')).toBeGreaterThan(REQUESTS / 10);
  },
  FULL ? 1_800_000 : 120_000,
);

test('none of them was logged as a server error', () => {
  expect(
    world.app.lines
      .filter(({ message }) => message.startsWith('a request failed'))
      .map(({ message, path, error }) => ({ message, path, error: String(error) }))
      .slice(0, 5),
  ).toEqual([]);
});
