import type { IncomingMessage } from 'node:http';
import { HttpError, InvalidInput } from '#core';

/** Bytes; larger bodies are 413. */
export const LARGEST_BODY = 1024 * 1024;

const text = new TextDecoder('utf-8', { fatal: true });

/**
 * The body as a value: JSON, or a form where `form` says so (`name[]` and repeated names become lists). An absent body is
 * an empty object, so that a route without required fields needs none. Throws 400, 413 or 415.
 */
export async function readBody(req: IncomingMessage, { form }: { form: boolean }): Promise<unknown> {
  const declared = Number(req.headers['content-length'] ?? Number.NaN);
  if (declared > LARGEST_BODY) throw tooLarge();
  if (declared === 0 || (Number.isNaN(declared) && req.headers['transfer-encoding'] === undefined)) return {};
  const parse = parserOf(req, form);
  const bytes = await collect(req);
  if (bytes.length === 0) return {};
  let source: string;
  try {
    source = text.decode(bytes);
  } catch {
    throw malformed('is not valid UTF-8');
  }
  return parse(source);
}

function parserOf({ headers }: IncomingMessage, form: boolean): (source: string) => unknown {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';').map((part) => part.trim());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice(8).replaceAll('"', '') ?? 'utf-8';
  const encoded = headers['content-encoding'] ?? 'identity';
  if (encoded === 'identity' && (charset === 'utf-8' || charset === 'utf8' || charset === 'us-ascii')) {
    if (type === 'application/json') return parseJson;
    if (form && type === 'application/x-www-form-urlencoded') return parseForm;
  }
  throw new HttpError(415, `Send the body as ${form ? 'application/json or application/x-www-form-urlencoded' : 'application/json'}, in UTF-8 and not compressed`);
}

async function collect(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > LARGEST_BODY) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

function parseJson(source: string): unknown {
  try {
    // Only a name that is spelled out, or hidden behind an escape, can reach a prototype later on.
    return /__proto__|\\u005f/i.test(source) ? JSON.parse(source, (key, value: unknown) => (key === '__proto__' ? undefined : value)) : JSON.parse(source);
  } catch {
    throw malformed('is not valid JSON');
  }
}

function parseForm(source: string): unknown {
  const values: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  const form = new URLSearchParams(source);
  for (const name of new Set(form.keys())) {
    const all = form.getAll(name);
    if (name.endsWith('[]')) values[name.slice(0, -2)] = all;
    else values[name] = all.length > 1 ? all : all[0]!;
  }
  return { ...values };
}

const malformed = (message: string): InvalidInput => new InvalidInput([{ field: 'body', message }]);
// The rest of the body is not read, so the connection cannot be used again.
const tooLarge = (): HttpError => new HttpError(413, 'A body may have at most 1 MiB', { headers: { Connection: 'close' } });
