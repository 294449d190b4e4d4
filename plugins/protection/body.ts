import { setImmediate as turn } from 'node:timers/promises';
import { HttpError, InvalidInput, type Request } from 'parley-forum';
import { MAX_CHUNKS, tooManyChunks } from 'parley-forum/plugins/protection';
import { parseForm } from './form.ts';

/**
 * Maximum bytes of a form or JSON body: in general, and for one that carries a long text, each character of which may
 * be escaped as several bytes.
 */
const MAX_BODY = 64 * 1024;
const MAX_LONG_BODY = 1024 * 1024;
/** Maximum nesting depth of JSON; no route needs more, and recursive functions could overflow the stack. */
const MAX_DEPTH = 64;
/** Maximum number of JSON values; validating more than that would take longer than reading them. */
const MAX_VALUES = 10_000;
const CHARSETS = ['utf-8', 'utf8', 'us-ascii'];
const decoder = new TextDecoder('utf-8', { fatal: true });
/** Resolves when the most recent long body may be parsed. */
let lastTurn: Promise<unknown> = Promise.resolve();

export async function readBody(
  req: Request,
  { form, longText = false }: { readonly form: boolean; readonly longText?: boolean },
): Promise<unknown> {
  const maxBytes = longText ? MAX_LONG_BODY : MAX_BODY;
  const declared = declaredLength(req, maxBytes);
  if (declared === 0 || (Number.isNaN(declared) && req.headers['transfer-encoding'] === undefined)) return {};
  const parse = parserOf(req, form);
  const bytes = await collect(req, maxBytes);
  if (bytes.length > MAX_BODY) await nextTurn();
  return bytes.length === 0 ? {} : parse(bytes);
}

/**
 * Only one long body is parsed per turn of the event loop, so that many at once block other requests no longer than a
 * single one does.
 */
function nextTurn(): Promise<unknown> {
  lastTurn = lastTurn.then(() => turn());
  return lastTurn;
}

export async function readBytes(req: Request, maxBytes = MAX_LONG_BODY): Promise<Buffer> {
  declaredLength(req, maxBytes);
  return collect(req, maxBytes);
}

export const readJson = (bytes: Buffer): unknown => parseJson(decoded(bytes), Infinity);

/** `NaN` if the client does not declare it. */
function declaredLength(req: Request, maxBytes: number): number {
  const declared = Number(req.headers['content-length'] ?? Number.NaN);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  return declared;
}

function parserOf({ headers }: Request, form: boolean): (bytes: Buffer) => unknown {
  const [type = '', ...parameters] = (headers['content-type'] ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const charset =
    parameters
      .find((parameter) => parameter.startsWith('charset='))
      ?.slice(8)
      .replaceAll('"', '') ?? 'utf-8';
  if ((headers['content-encoding'] ?? 'identity') === 'identity' && CHARSETS.includes(charset)) {
    if (type === 'application/json') return (bytes) => parseJson(decoded(bytes));
    if (form && type === 'application/x-www-form-urlencoded') return (bytes) => parseForm(decoded(withSpaces(bytes)));
  }
  throw new HttpError(
    415,
    `Send the body as ${form ? 'application/json or application/x-www-form-urlencoded' : 'application/json'}, in UTF-8 and not compressed`,
  );
}

/**
 * Chunks are copied into one buffer as they arrive: as objects, even chunks of a single byte take some hundred bytes.
 */
async function collect(req: Request, maxBytes: number): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  let [length, chunks] = [0, 0];
  for await (const chunk of req as AsyncIterable<Buffer>) {
    const end = length + chunk.length;
    if (end > maxBytes) throw tooLarge(maxBytes);
    if (++chunks > MAX_CHUNKS) throw tooManyChunks();
    if (end > bytes.length) bytes = Buffer.concat([bytes], Math.max(end, 2 * length));
    chunk.copy(bytes, length);
    length = end;
  }
  return bytes.subarray(0, length);
}

/**
 * Replaces plus signs, which encode spaces in forms. Done on the bytes, all at once: on text, a million of them would
 * create as many strings.
 */
function withSpaces(bytes: Buffer): Buffer {
  for (let at = bytes.indexOf(PLUS); at >= 0 && at < bytes.length; at++) if (bytes[at] === PLUS) bytes[at] = SPACE;
  return bytes;
}

function decoded(bytes: Buffer): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw malformed('is not valid UTF-8');
  }
}

function parseJson(source: string, maxValues = MAX_VALUES): unknown {
  checkComplexity(source, maxValues);
  try {
    const value: unknown = JSON.parse(source);
    // Only a key that is written out, or one with an escaped letter, can reach a prototype later on.
    if (/__proto__|\\u/.test(source)) removePrototypes(value);
    return value;
  } catch {
    throw malformed('is not valid JSON');
  }
}

/** The recursion depth is limited by `checkComplexity`. */
function removePrototypes(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__');
  for (const inner of Object.values(value)) removePrototypes(inner);
}

const [PLUS, SPACE] = ['+', ' '].map((sign) => sign.charCodeAt(0)) as [number, number];
const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [
  '"',
  '\\',
  ',',
  '[',
  ']',
  '{',
  '}',
].map((sign) => sign.charCodeAt(0));

/** Throws if the JSON is too deep or has too many values, before any of them is created. */
function checkComplexity(source: string, maxValues: number): void {
  let [depth, values, inText] = [0, 1, false];
  for (let at = 0; at < source.length; at++) {
    const sign = source.charCodeAt(at);
    if (inText) {
      if (sign === BACKSLASH) at++;
      else if (sign === QUOTE) inText = false;
    } else if (sign === QUOTE) inText = true;
    else if (sign === COMMA) values++;
    else if (sign === CLOSE_LIST || sign === CLOSE_OBJECT) depth--;
    else if (sign === OPEN_LIST || sign === OPEN_OBJECT) {
      values++;
      if (++depth > MAX_DEPTH) throw malformed(`may have at most ${MAX_DEPTH} levels`);
    }
    if (values > maxValues) throw new HttpError(413, `A body may have at most ${maxValues} values`);
  }
}

const malformed = (message: string): InvalidInput => new InvalidInput([{ field: 'body', message }]);
// The rest of the body is not read, so the connection cannot be reused.
const tooLarge = (maxBytes: number): HttpError =>
  new HttpError(
    413,
    `A body may have at most ${maxBytes >= 1024 ** 2 ? `${maxBytes / 1024 ** 2} MiB` : `${maxBytes / 1024} KiB`}`,
    { headers: { Connection: 'close' } },
  );
