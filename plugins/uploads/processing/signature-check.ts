import { createReadStream } from 'node:fs';
import { InvalidInput } from 'parley-forum';
import type { Format } from './formats.ts';

/** What a text may not hold: characters that steer devices. Tabs, line and page breaks are text. */
const STEERING = /[\p{Cc}--[\t\n\f\r]]/v;

/** Throws 400 unless the bytes are of this format, whatever name and header say. */
export async function inspect(path: string, format: Format): Promise<void> {
  const found = await typeOf(path);
  const fits = format.text === true ? found === undefined && (await isText(path)) : found === format.type;
  if (fits) return;
  const [extension] = format.extensions;
  throw refusal(
    `is not a .${extension} file${found === undefined ? '' : ` but ${found}`}; give it the ending that fits what is in it`,
  );
}

/** 400 for the file itself. */
export const refusal = (message: string): InvalidInput => new InvalidInput([{ field: 'file', message }]);

/**
 * What the first bytes say; `undefined` for text, and for what nobody knows. The library is loaded with the first file
 * that comes.
 */
async function typeOf(path: string): Promise<string | undefined> {
  const { fileTypeFromFile } = await import('file-type');
  const found = await fileTypeFromFile(path).catch(() => undefined);
  return found && (SAME[found.mime] ?? found.mime);
}

/** An animated PNG is a PNG of which the first frame is kept. */
const SAME: Readonly<Record<string, string>> = { 'image/apng': 'image/png' };

async function isText(path: string): Promise<boolean> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of createReadStream(path))
      if (STEERING.test(decoder.decode(chunk as Buffer, { stream: true }))) return false;
    decoder.decode();
    return true;
  } catch {
    return false;
  }
}
