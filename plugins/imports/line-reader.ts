import { createReadStream } from 'node:fs';
import { ConfigurationError } from 'parley-forum';

export interface TextLine {
  /** From 1, as editors count. */
  readonly number: number;
  readonly text: string;
}

/** Bytes of a line: a discussion of many thousand posts, and less than a string can have. */
const MAX_LINE_BYTES = 256 * 1024 * 1024;
const LINE_FEED = 0x0a;

/** The lines of a file that say something, one after the other. Throws where it cannot be read. */
export async function* readLines(path: string): AsyncGenerator<TextLine> {
  let number = 0;
  for await (const bytes of linesOf(path)) {
    number++;
    const text = decoded(bytes);
    if (text === undefined) throw new ConfigurationError(`${path}: line ${number} is not UTF-8; save the file as such`);
    if (text.trim() !== '') yield { number, text };
  }
}

/** The text without a mark of byte order; undefined for other bytes than those of UTF-8, which would be lost in it. */
function decoded(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Ended by line feeds alone: what else ends a line of text may stand in a line of JSON. */
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
      throw new ConfigurationError(`${path}: line ${number} has more than ${MAX_LINE_BYTES / 1024 / 1024} MiB`);
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
