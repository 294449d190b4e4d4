import { addAbortSignal, Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import type { PersonalFile } from 'parley-forum/ports/personal-data';

/** The client disconnected. */
const PREMATURE_CLOSE = 'ERR_STREAM_PREMATURE_CLOSE';

/**
 * Streams the files as a ZIP archive, respecting backpressure: only one file is open at a time, and only a part of it
 * in memory. A failure aborts the stream, so that half an archive cannot be mistaken for a complete one. Also resolves
 * when the client disconnects.
 */
export async function sendArchive(
  files: AsyncIterable<PersonalFile>,
  out: Writable,
  signal: AbortSignal,
): Promise<void> {
  const zip = new ZipFile();
  const packed = zip.outputStream as Readable;
  const ended = new AbortController();
  zip.on('error', (error: Error) => packed.destroy(error));
  const sent = pipeline(packed, out, { signal }).finally(() => ended.abort());
  const filled = fill(zip, files, ended.signal).catch((error: unknown) => {
    packed.destroy(error as Error);
    throw error;
  });
  // Of two failures the first is the cause: the other side ends because of it.
  await Promise.all([sent, filled]).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== PREMATURE_CLOSE) throw error;
  });
}

async function fill(zip: ZipFile, files: AsyncIterable<PersonalFile>, ended: AbortSignal): Promise<void> {
  for await (const { path, content } of files) {
    const source = addAbortSignal(ended, Readable.from(typeof content === 'string' ? [content] : content));
    await new Promise<void>((resolve, reject) => {
      source.once('close', resolve).once('error', reject);
      zip.addReadStream(source, path);
    });
  }
  zip.end();
}
