import { promisify } from 'node:util';
import type { IncomingMessage } from 'node:http';
import { gzip } from 'node:zlib';
import { acceptsEncoding } from './freshness.ts';

const compress = promisify(gzip);
/** Bytes; compressing anything smaller costs more than it saves. */
const MIN_COMPRESSED_SIZE = 1024;

/** The body of a cached response, identical every time it is sent. */
export class ReusableBody {
  readonly plain: Buffer;
  #compressing = false;
  #gzip: Buffer | undefined;

  constructor(plain: Buffer) {
    this.plain = plain;
  }

  /**
   * The gzipped body if `req` accepts it and it is ready. Compression runs in the background from the first request for
   * it, because most responses are never sent a second time; until it is done the body is sent uncompressed.
   */
  gzipFor(req: IncomingMessage): Buffer | undefined {
    if (this.plain.length < MIN_COMPRESSED_SIZE || !acceptsEncoding(req, 'gzip')) return undefined;
    if (!this.#compressing) {
      this.#compressing = true;
      compress(this.plain, { level: 9 }).then(
        (gzip) => (this.#gzip = gzip),
        () => undefined,
      );
    }
    return this.#gzip;
  }
}
