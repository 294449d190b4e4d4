import { HttpError, InvalidInput, type Request } from '#core';
import { parseForm } from './form.ts';

/** Bytes of a form or of JSON. */
const LARGEST = 1024 * 1024;
/** Levels of JSON; deeper ones are not for any route, and would be for whoever walks through them one call in another. */
const DEEPEST = 64;
const CHARSETS = ['utf-8', 'utf8', 'us-ascii'];
const decoder = new TextDecoder('utf-8', { fatal: true });

export async function readBody(req: Request, form: boolean): Promise<unknown> {
  const declared = declaredLength(req, LARGEST);
  if (declared === 0 || (Number.isNaN(declared) && req.headers['transfer-encoding'] === undefined)) return {};
  const parse = parserOf(req, form);
  const bytes = await collect(req, LARGEST);
  return bytes.length === 0 ? {} : parse(decoded(bytes));
}

export async function readBytes(req: Request, largest = LARGEST): Promise<Buffer> {
  declaredLength(req, largest);
  return collect(req, largest);
}

export const readJson = (bytes: Buffer): unknown => parseJson(decoded(bytes));

/** `NaN` where the client does not say. */
function declaredLength(req: Request, largest: number): number {
  const declared = Number(req.headers['content-length'] ?? Number.NaN);
  if (declared > largest) throw tooLarge(largest);
  return declared;
}

function parserOf({ headers }: Request, form: boolean): (source: string) => unknown {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';').map((part) => part.trim());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice(8).replaceAll('"', '') ?? 'utf-8';
  if ((headers['content-encoding'] ?? 'identity') === 'identity' && CHARSETS.includes(charset)) {
    if (type === 'application/json') return parseJson;
    if (form && type === 'application/x-www-form-urlencoded') return parseForm;
  }
  throw new HttpError(415, `Send the body as ${form ? 'application/json or application/x-www-form-urlencoded' : 'application/json'}, in UTF-8 and not compressed`);
}

async function collect(req: Request, largest: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > largest) throw tooLarge(largest);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

function decoded(bytes: Buffer): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw malformed('is not valid UTF-8');
  }
}

function parseJson(source: string): unknown {
  const value = valueOf(source);
  if (deeperThan(DEEPEST, value)) throw malformed(`may have at most ${DEEPEST} levels`);
  return value;
}

function valueOf(source: string): unknown {
  try {
    // Only a name that is spelled out, or hidden behind an escape, can reach a prototype later on.
    return /__proto__|\\u005f/i.test(source) ? JSON.parse(source, (key, value: unknown) => (key === '__proto__' ? undefined : value)) : JSON.parse(source);
  } catch {
    throw malformed('is not valid JSON');
  }
}

const deeperThan = (levels: number, value: unknown): boolean =>
  typeof value === 'object' && value !== null && (levels === 0 || Object.values(value).some((inner) => deeperThan(levels - 1, inner)));

const malformed = (message: string): InvalidInput => new InvalidInput([{ field: 'body', message }]);
// The rest of the body is not read, so the connection cannot be used again.
const tooLarge = (largest: number): HttpError =>
  new HttpError(413, `A body may have at most ${largest === LARGEST ? '1 MiB' : `${largest / 1024} KiB`}`, { headers: { Connection: 'close' } });
