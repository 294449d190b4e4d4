import { HttpError, InvalidInput, type Request } from '#core';

/** Bytes of a form or of JSON; uploads have their own way in. */
export const LARGEST_BODY = 1024 * 1024;
const MOST_FIELDS = 1_000;
const DEEPEST = 5;

type Fields = { [key: string]: unknown };
const bodies = new WeakMap<Request, Promise<unknown>>();

/** The request's body as a value, read once: urlencoded (`a[b]`, `a[]`) or JSON. 400, 413 or 415 for anything else. */
export function readBody(req: Request): Promise<unknown> {
  let body = bodies.get(req);
  if (!body) bodies.set(req, (body = read(req)));
  return body;
}

async function read(req: Request): Promise<unknown> {
  const text = await collect(req);
  if (text === '') return {};
  const type = String(req.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type === 'application/x-www-form-urlencoded') return parseForm(text);
  if (type !== 'application/json') throw new HttpError(415, 'Send a form (application/x-www-form-urlencoded) or JSON');
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new HttpError(400, 'The body is not valid JSON', { cause: error });
  }
}

async function collect(req: Request): Promise<string> {
  const tooLarge = (): HttpError => new HttpError(413, `The most that is taken is ${LARGEST_BODY / 1024} KiB`, { headers: { Connection: 'close' } });
  if (Number(req.headers['content-length'] ?? 0) > LARGEST_BODY) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LARGEST_BODY) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const KEY = /^([^[\]]+)((?:\[[^[\]]*\])*)$/;
const FORBIDDEN = new Set(['__proto__', 'prototype', 'constructor']);

/** `a[b]` makes an object, `a[]` and a repeated `a` a list; a key that does not look like either is taken as it is. */
export function parseForm(text: string): Fields {
  const result: Fields = Object.create(null) as Fields;
  const pairs = [...new URLSearchParams(text)];
  if (pairs.length > MOST_FIELDS) throw new HttpError(413, `A form may have ${MOST_FIELDS} fields`);
  for (const [key, value] of pairs) {
    const found = KEY.exec(key);
    const path = found ? [found[1] ?? '', ...[...(found[2] ?? '').matchAll(/\[([^\]]*)\]/g)].map((match) => match[1] ?? '')] : [key];
    if (path.length > DEEPEST || path.some((part) => FORBIDDEN.has(part))) throw new InvalidInput([{ field: key.slice(0, 80), message: 'is not a field name' }]);
    put(result, path, value);
  }
  return lists(result) as Fields;
}

function put(target: Fields, [name = '', ...rest]: readonly string[], value: string): void {
  if (rest.length === 0) {
    const before = target[name];
    target[name] = before === undefined ? value : Array.isArray(before) ? [...(before as unknown[]), value] : [before, value];
    return;
  }
  if (rest.length === 1 && rest[0] === '') {
    const before = target[name];
    target[name] = [...(Array.isArray(before) ? (before as unknown[]) : []), ...(value === '' ? [] : [value])];
    return;
  }
  const below = target[name];
  const next = isFields(below) ? below : (Object.create(null) as Fields);
  target[name] = next;
  put(next, rest, value);
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Objects whose keys are 0, 1, 2 … were lists. */
function lists(value: unknown): unknown {
  if (!isFields(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, lists(inner)] as const);
  if (entries.length > 0 && entries.every(([key]) => /^\d{1,4}$/.test(key))) return entries.sort(([a], [b]) => Number(a) - Number(b)).map(([, inner]) => inner);
  return Object.fromEntries(entries);
}
