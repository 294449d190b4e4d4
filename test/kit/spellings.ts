import { Agent, request } from 'node:http';
import { Cluster } from 'parley-forum';
import type { TestForum } from './index.ts';

/** Draws the same from the same seed. */
export interface Dice {
  /** A whole number from 0 to `below` - 1. */
  int(below: number): number;
  /** True once in `often` times. */
  once(often: number): boolean;
  of<T>(list: readonly T[]): T;
}

/** Mulberry32: small, and good enough to choose test cases. */
export function createDice(seed: number): Dice {
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

/** What is asked for: a path as it is usually written, and the values of its query. */
export interface Wanted {
  readonly path: string;
  readonly query?: readonly (readonly [string, string])[];
}

/** Parameters that mean nothing, and characters that parsers of addresses disagree about. */
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

const hex = (byte: number, dice: Dice): string =>
  `%${dice.once(2) ? byte.toString(16).toUpperCase().padStart(2, '0') : byte.toString(16).padStart(2, '0')}`;
/** Some of its characters percent-encoded, which changes nothing for a careful reader. */
const encoded = (text: string, dice: Dice, often: number): string =>
  [...text]
    .map((char) =>
      /[\w.~-]/.test(char) && !dice.once(often) ? char : [...Buffer.from(char)].map((byte) => hex(byte, dice)).join(''),
    )
    .join('');

/** One of the countless ways to write an address, right ones and wrong ones. */
export function spell({ path, query = [] }: Wanted, dice: Dice, host: string): string {
  const often = dice.of([4, 30, 1_000, 1_000, 1_000]);
  const parts = path
    .split('/')
    .slice(1)
    .map((part, index) => (index === 0 ? part : encoded(decodeURIComponent(part), dice, often)));
  let spelled = `/${parts.join(dice.once(20) ? '//' : '/')}`;
  if (dice.once(15)) spelled += '/';
  if (dice.once(25)) spelled = spelled.replace(/[a-z](?=[^a-z]*$)/, (char) => char.toUpperCase());
  const pairs = query.map(
    ([name, value]) =>
      `${encoded(name, dice, often)}=${encoded(value, dice, often).replaceAll('%20', dice.once(2) ? '+' : '%20')}`,
  );
  for (let count = dice.of([0, 0, 0, 1, 1, 2]); count > 0; count--)
    pairs.splice(dice.int(pairs.length + 1), 0, dice.of(ODD));
  if (pairs.length > 0 && dice.once(12)) pairs.push(dice.of(pairs));
  if (dice.once(6)) pairs.reverse();
  if (dice.once(60)) pairs.unshift(`x=${'long'.repeat(100)}`);
  if (pairs.length > 0) spelled += `?${pairs.join(dice.once(25) ? '&&' : dice.once(25) ? ';' : '&')}`;
  if (dice.once(10)) spelled += dice.of(TAILS);
  return dice.once(25) ? `http://${dice.once(2) ? host : 'elsewhere.example'}${spelled}` : spelled;
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

/** Sends addresses as they are: `fetch` would tidy them first. */
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

/** Has everything answered anew that comes from now on. */
const forget = (app: TestForum): Promise<void> => app.app.service(Cluster).deliver('cache.purged');

export interface Trial {
  readonly app: TestForum;
  readonly dice: Dice;
  readonly rounds: number;
  /** Requests of a round, each of which is sent twice. */
  readonly requests: number;
  /** Between rounds, so that what is kept has to go. */
  change(): Promise<unknown>;
  wanted(): Wanted;
  /** Who asks, and how: headers beside the address. */
  headers(): Readonly<Record<string, string>>;
  /** The answer without what differs from one sending to the next. */
  shown(got: Got): unknown;
}

/**
 * What of `requests` was answered otherwise from what was kept than it is anew, and how many succeeded. Nothing changes
 * between the two.
 */
export async function compareKept({
  app,
  dice,
  rounds,
  requests,
  change,
  wanted,
  headers,
  shown,
}: Trial): Promise<{ readonly wrong: readonly object[]; readonly succeeded: number }> {
  const { send, close } = createSender(app.url);
  const wrong: object[] = [];
  let succeeded = 0;
  for (let round = 0; round < rounds; round++) {
    await change();
    await app.calm();
    const asked: { readonly sent: Sent; readonly got: Got }[] = [];
    // Few things asked for by many, or little would come from what is kept.
    const about = Array.from({ length: Math.ceil(requests / 12) }, wanted);
    for (let count = 0; count < requests; count++) {
      const sent = {
        method: dice.once(12) ? 'HEAD' : 'GET',
        url: spell(dice.of(about), dice, new URL(app.url).host),
        headers: headers(),
      };
      asked.push({ sent, got: await send(sent) });
    }
    for (const { sent, got } of asked) {
      await forget(app);
      const anew = await send(sent);
      if (got.status === 200) succeeded++;
      const [kept, made] = [JSON.stringify(shown(got)), JSON.stringify(shown(anew))];
      if (kept === made) continue;
      const from = Math.max(0, [...kept].findIndex((char, index) => char !== made[index]) - 50);
      wrong.push({ sent, kept: kept.slice(from, from + 200), made: made.slice(from, from + 200) });
    }
  }
  close();
  return { wrong, succeeded };
}

/** What `Client` is to the server: a session ends when another program shows up with its cookie. */
export const SAME_PROGRAM = { 'user-agent': 'node', 'accept-language': '*' } as const;

/** A body without what is made for each answer: nonces, forgery tokens, ids of requests. */
export const plainBody = (body: string): string =>
  body.replace(
    /nonce="[^"]*"|(?:name="_csrf" value|csrf-token" content)="[^"]*"|"request_id":"[^"]*"|(?<=Request )\S+(?=<)/g,
    '',
  );
