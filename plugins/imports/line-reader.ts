import { createReadStream } from 'node:fs';
import { ConfigurationError } from 'parley-forum';

export interface TextLine {
  /** Counts from 1, as in editors. */
  readonly number: number;
  readonly text: string;
}

/**
 * Maximum bytes of a line: enough for a discussion of many thousand posts, and less than the maximum length of a
 * string.
 */
const MAX_LINE_BYTES = 256 * 1024 * 1024;
const LINE_FEED = 0x0a;

/** Yields the non-blank lines of a file. Throws if it cannot be read. */
export async function* readLines(path: string): AsyncGenerator<TextLine> {
  let number = 0;
  for await (const bytes of linesOf(path)) {
    number++;
    const text = decoded(bytes);
    if (text === undefined)
      throw new ConfigurationError(`${path}: line ${number} is not UTF-8; save the file as UTF-8`);
    if (text.trim() !== '') yield { number, text };
  }
}

/** Decodes UTF-8 without a byte order mark; undefined for invalid bytes, which would be lost otherwise. */
function decoded(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Splits at line feeds only: other line separators may occur within a line of JSON. */
async function* linesOf(path: string): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let size = 0;
  let number = 1;
  for await (const chunk of chunksOf(path)) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      yield Buffer.concat([...parts, chunk.subarray(start, end)]);
      [parts, size, start] = [[], 0, end + 1];
      number++;
    }
    parts.push(chunk.subarray(start));
    size += chunk.length - start;
    if (size > MAX_LINE_BYTES)
      throw new ConfigurationError(`${path}: line ${number} is larger than ${MAX_LINE_BYTES / 1024 / 1024} MiB`);
  }
  yield Buffer.concat(parts);
}

async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>;
  } catch (error) {
    throw new ConfigurationError(`${path} cannot be read`, { cause: error });
  }
}
