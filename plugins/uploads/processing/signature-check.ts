import { createReadStream } from 'node:fs';
import { InvalidInput } from 'parley-forum';
import type { Format } from './formats.ts';

/** Control characters, which text files must not contain. Tabs, line and page breaks are allowed. */
const CONTROL_CHARACTERS = /[\p{Cc}--[\t\n\f\r]]/v;

/** Throws 400 unless the bytes are of this format, regardless of name and header. */
export async function checkSignature(path: string, format: Format): Promise<void> {
  const found = await typeOf(path);
  const fits = format.text === true ? found === undefined && (await isText(path)) : found === format.type;
  if (fits) return;
  const [extension] = format.extensions;
  throw fileProblem(
    `is not a .${extension} file${found === undefined ? '' : ` but ${found}`}; use the extension that matches its content`,
  );
}

/** A 400 error about the field `file`. */
export const fileProblem = (message: string): InvalidInput => new InvalidInput([{ field: 'file', message }]);

/** The type by file signature; `undefined` for text and unknown types. The library is loaded with the first file. */
async function typeOf(path: string): Promise<string | undefined> {
  const { fileTypeFromFile } = await import('file-type');
  const found = await fileTypeFromFile(path).catch(() => undefined);
  return found && (TYPE_ALIASES[found.mime] ?? found.mime);
}

/** An animated PNG counts as a PNG; only its first frame is stored. */
const TYPE_ALIASES: Readonly<Record<string, string>> = { 'image/apng': 'image/png' };

async function isText(path: string): Promise<boolean> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of createReadStream(path))
      if (CONTROL_CHARACTERS.test(decoder.decode(chunk as Buffer, { stream: true }))) return false;
    decoder.decode();
    return true;
  } catch {
    return false;
  }
}
