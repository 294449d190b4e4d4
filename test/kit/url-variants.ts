import { Agent, request } from 'node:http';
import { Cluster } from 'parley-forum';
import type { TestForum } from './index.ts';

/** Produces the same sequence for the same seed. */
export interface RandomSource {
  /** An integer from 0 to `below` - 1. */
  int(below: number): number;
  /** True once in `often` calls on average. */
  once(often: number): boolean;
  of<T>(list: readonly T[]): T;
}

/** Mulberry32: small, and good enough to choose test cases. */
export function createRandom(seed: number): RandomSource {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const int = (below: number): number => Math.floor(next() * below);
  return { int, once: (often) => int(often) === 0, of: (list) => list[int(list.length)]! };
}

/** A request: a path in its usual spelling, and the values of its query. */
export interface UrlRequest {
  readonly path: string;
  readonly query?: readonly (readonly [string, string])[];
}

/** Meaningless parameters, and characters that URL parsers disagree about. */
const ODD = [
  'x=?',
  'x=%3F',
  'x=1?',
  'x',
  '=',
  '?',
  'x=?&offset=1',
  'x=#',
  'x=%23',
  'x=;',
  'x=a;offset=1',
  'offset%00=1',
  'x=%00',
  'x=%2F',
  'x=%zz',
  'x=+',
  '__proto__=1',
  'constructor=1',
  'limit[]=1',
  'x=é',
  'x=%E9',
  'token=',
  'sort.=new',
];
const TAILS = ['#', '#?offset=1', '#&offset=1', '?', '&', '&&', ';', '%20', '%00', '/', '//', '/.', '?#'];

const hex = (byte: number, random: RandomSource): string =>
  `%${random.once(2) ? byte.toString(16).toUpperCase().padStart(2, '0') : byte.toString(16).padStart(2, '0')}`;
/** Percent-encodes some characters, which does not change the meaning to a correct parser. */
const encoded = (text: string, random: RandomSource, often: number): string =>
  [...text]
    .map((char) =>
      /[\w.~-]/.test(char) && !random.once(often)
        ? char
        : [...Buffer.from(char)].map((byte) => hex(byte, random)).join(''),
    )
    .join('');

/**
 * Returns a variant of a query, starting with its `?`, or empty: parameters are encoded, repeated, reordered and mixed
 * with meaningless ones.
 */
function queryVariant(query: NonNullable<UrlRequest['query']>, random: RandomSource, often: number): string {
  const pairs = query.map(
    ([name, value]) =>
      `${encoded(name, random, often)}=${encoded(value, random, often).replaceAll('%20', random.once(2) ? '+' : '%20')}`,
  );
  for (let count = random.of([0, 0, 0, 1, 1, 2]); count > 0; count--)
    pairs.splice(random.int(pairs.length + 1), 0, random.of(ODD));
  if (pairs.length > 0 && random.once(12)) pairs.push(random.of(pairs));
  if (random.once(6)) pairs.reverse();
  if (random.once(60)) pairs.unshift(`x=${'long'.repeat(100)}`);
  if (pairs.length === 0) return '';
  return `?${pairs.join(random.once(25) ? '&&' : random.once(25) ? ';' : '&')}`;
}

/** Spells a URL in one of countless ways, both valid and invalid. */
function urlVariant({ path, query = [] }: UrlRequest, random: RandomSource, host: string): string {
  const often = random.of([4, 30, 1_000, 1_000, 1_000]);
  const parts = path
    .split('/')
    .slice(1)
    .map((part, index) => (index === 0 ? part : encoded(decodeURIComponent(part), random, often)));
  let url = `/${parts.join(random.once(20) ? '//' : '/')}`;
  if (random.once(15)) url += '/';
  if (random.once(25)) url = url.replace(/[a-z](?=[^a-z]*$)/, (char) => char.toUpperCase());
  url += queryVariant(query, random, often);
  if (random.once(10)) url += random.of(TAILS);
  return random.once(25) ? `http://${random.once(2) ? host : 'elsewhere.example'}${url}` : url;
}

export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}
export interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Sends URLs unchanged: `fetch` would normalise them first. */
export function createSender(url: string): { send(sent: Sent): Promise<Got>; close(): void } {
  const { hostname, port } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  return {
    close: () => agent.destroy(),
    send: ({ method, url: path, headers }) =>
      new Promise((resolve, reject) => {
        const sending = request({ agent, hostname, port, method, path, headers: { ...headers } }, (res) => {
          const chunks: Buffer[] = [];
          res.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
          res.on('end', () =>
            resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks).toString() }),
          );
        });
        sending.on('error', reject).end();
      }),
  };
}

/** Empties the caches, so that the next responses are computed. */
const purgeCache = (app: TestForum): Promise<void> => app.app.service(Cluster).deliver('cache.purged');

export interface CacheComparison {
  readonly app: TestForum;
  readonly random: RandomSource;
  readonly rounds: number;
  /** Number of requests per round, each of which is sent twice. */
  readonly requests: number;
  /** Called between rounds, so that cached responses have to be purged. */
  change(): Promise<unknown>;
  wanted(): UrlRequest;
  /** Headers that identify the caller and vary the request. */
  headers(): Readonly<Record<string, string>>;
  /** The response without the parts that differ between requests. */
  shown(got: Got): unknown;
}

/**
 * Returns which requests got a different response from a cache than without one, and how many succeeded. Nothing
 * changes between the two.
 */
export async function compareCached({
  app,
  random,
  rounds,
  requests,
  change,
  wanted,
  headers,
  shown,
}: CacheComparison): Promise<{ readonly wrong: readonly object[]; readonly succeeded: number }> {
  const { send, close } = createSender(app.url);
  const wrong: object[] = [];
  let succeeded = 0;
  for (let round = 0; round < rounds; round++) {
    await change();
    await app.calm();
    const asked: { readonly sent: Sent; readonly got: Got }[] = [];
    // Many requests for few URLs; otherwise little would come from a cache.
    const about = Array.from({ length: Math.ceil(requests / 12) }, wanted);
    for (let count = 0; count < requests; count++) {
      const sent = {
        method: random.once(12) ? 'HEAD' : 'GET',
        url: urlVariant(random.of(about), random, new URL(app.url).host),
        headers: headers(),
      };
      asked.push({ sent, got: await send(sent) });
    }
    for (const { sent, got } of asked) {
      await purgeCache(app);
      const uncached = await send(sent);
      if (got.status === 200) succeeded++;
      const [cached, fresh] = [JSON.stringify(shown(got)), JSON.stringify(shown(uncached))];
      if (cached === fresh) continue;
      const from = Math.max(0, [...cached].findIndex((char, index) => char !== fresh[index]) - 50);
      wrong.push({ sent, cached: cached.slice(from, from + 200), fresh: fresh.slice(from, from + 200) });
    }
  }
  close();
  return { wrong, succeeded };
}

/** The headers that `Client` sends: a session ends if its cookie arrives with a different user agent. */
export const SAME_USER_AGENT = { 'user-agent': 'node', 'accept-language': '*' } as const;

/** A body without the parts that differ between responses: nonces, forgery tokens and request ids. */
export const plainBody = (body: string): string =>
  body.replace(
    /nonce="[^"]*"|(?:name="_csrf" value|csrf-token" content)="[^"]*"|"request_id":"[^"]*"|(?<=(?:Request|Anfrage) )\S+(?=<)/g,
    '',
  );
