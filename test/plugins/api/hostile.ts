/** Random and hostile values, the same ones for the same seed. */

type Schema = Readonly<Record<string, any>>;

/** Pseudo-random numbers from 0 to 1, repeatable by seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const TEXTS = [
  '',
  ' ',
  '0',
  '-1',
  '1e9',
  '٣',
  'null',
  'undefined',
  'true',
  '[]',
  '{}',
  '../../etc/passwd',
  '\0',
  'a\0b',
  '\ud800',
  '\udfff\ud800',
  '\u202e',
  '\u{1f600}'.repeat(50),
  'é'.normalize('NFD'),
  '\r\nX-Evil: 1',
  "'; drop table post; --",
  '%',
  '%00',
  '%s%n',
  '\\',
  '"',
  '<script>alert(1)</script>',
  '${7*7}',
  '{{7*7}}',
  '__proto__',
  'constructor',
  'toString',
  '*',
  '(',
  '[',
  'a:b',
  '"unclosed',
  '-',
  '---',
  'author:',
  'category:',
  'before:2020-13-45',
  'after:0000-00-00',
  'x'.repeat(101),
  'y'.repeat(5_000),
  '00000000-0000-0000-0000-000000000000',
  'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
  '9223372036854775808',
  '2147483648',
  'WyJsYXRlc3QiLDEsIngiXQ',
  Buffer.from('[1e308]').toString('base64url'),
  Buffer.from('["\\u0000"]').toString('base64url'),
  Buffer.from('[null]').toString('base64url'),
  Buffer.from('[-1]').toString('base64url'),
  Buffer.from('["x","y"]').toString('base64url'),
];
const NUMBERS = [
  0,
  -0,
  1,
  -1,
  0.5,
  1e21,
  1e308,
  -1e308,
  2 ** 31,
  2 ** 31 - 1,
  -(2 ** 31),
  2 ** 53,
  2 ** 53 - 1,
  2 ** 63,
  99_999_999_999,
];
const DEEP = JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`) as unknown;

export interface Hostile {
  readonly random: () => number;
  pick<T>(list: readonly T[]): T;
  chance(share: number): boolean;
  text(): string;
  /** Mostly what the schema requires, and occasionally something else. */
  value(schema: Schema | undefined, known: readonly string[]): unknown;
  /** A request body with its declared content type. */
  body(
    schema: Schema | undefined,
    known: readonly string[],
  ): { readonly bytes: Buffer | undefined; readonly type: string | undefined };
}

export function createHostile(random: () => number): Hostile {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const chance = (share: number): boolean => random() < share;
  const text = (): string =>
    chance(0.8)
      ? pick(TEXTS)
      : String.fromCharCode(
          ...Array.from({ length: 1 + Math.floor(random() * 20) }, () => Math.floor(random() * 0xffff)),
        );
  const anything = (): unknown =>
    pick<() => unknown>([
      text,
      () => pick(NUMBERS),
      () => null,
      () => true,
      () => [],
      () => [text(), pick(NUMBERS), null],
      () => ({}),
      () => ({ [text()]: text() }),
      () => DEEP,
    ])();

  const value = (schema: Schema | undefined, known: readonly string[]): unknown => {
    if (!schema || chance(0.15)) return anything();
    if (schema['const'] !== undefined) return schema['const'];
    if (Array.isArray(schema['enum'])) return pick(schema['enum']);
    if (Array.isArray(schema['anyOf'])) return value(pick(schema['anyOf']) as Schema, known);
    if (schema['type'] === 'object') {
      const fields = Object.entries((schema['properties'] ?? {}) as Record<string, Schema>).filter(() => chance(0.9));
      return Object.fromEntries([
        ...fields.map(([name, inner]) => [name, value(inner, known)]),
        ...(chance(0.1) ? [[text(), anything()]] : []),
      ]);
    }
    if (schema['type'] === 'array')
      return Array.from({ length: Math.floor(random() * 4) }, () => value(schema['items'] as Schema, known));
    if (schema['type'] === 'integer' || schema['type'] === 'number')
      return chance(0.5) ? 1 + Math.floor(random() * 30) : pick(NUMBERS);
    if (schema['type'] === 'boolean') return chance(0.5);
    return chance(0.5) ? pick(known) : text();
  };

  const body: Hostile['body'] = (schema, known) => {
    if (chance(0.05)) return { bytes: undefined, type: undefined };
    const json = JSON.stringify(value(schema, known)) ?? 'null';
    const bytes = pick<() => Buffer>([
      ...Array.from({ length: 12 }, () => () => Buffer.from(json)),
      () => Buffer.from(json.slice(0, -1)),
      () => Buffer.from(json.replace('{', '{"__proto__":{"polluted":1},')),
      () => Buffer.from(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`),
      () => Buffer.from(json.replace(/"(?=[,}])/, '\\ud800"')),
      () => Buffer.from(json.replace(/\d+/, '1e400')),
      () => Buffer.concat([Buffer.from('{"content":"'), Buffer.from([0xff, 0xfe, 0x80]), Buffer.from('"}')]),
      () =>
        Buffer.from(
          new URLSearchParams(
            Object.entries((schema?.['properties'] ?? {}) as object).map(([name]): [string, string] => [name, text()]),
          ).toString(),
        ),
      () => Buffer.from('a[b][c][d][e][f]=1&__proto__[x]=1&=&%=%ff'),
    ])();
    const type = chance(0.85)
      ? 'application/json'
      : pick([
          'application/x-www-form-urlencoded',
          'text/plain',
          'application/json; charset=utf-16',
          'multipart/form-data; boundary=x',
          'application/json;',
          '',
          'a/b/c',
          'application/xml',
        ]);
    return { bytes, type };
  };
  return { random, pick, chance, text, value, body };
}
