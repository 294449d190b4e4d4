import { promisify } from 'node:util';
import type { IncomingMessage } from 'node:http';
import { gzip } from 'node:zlib';
import { acceptsEncoding } from './freshness.ts';

const compress = promisify(gzip);
/** Bytes; below it compressing costs more than it saves. */
const MIN_COMPRESSED_SIZE = 1024;

/** The body of a cached response, which is the same whenever it is sent. */
export class ReusableBody {
  readonly plain: Buffer;
  #compressing = false;
  #gzip: Buffer | undefined;

  constructor(plain: Buffer) {
    this.plain = plain;
  }

  /**
   * The compressed form, where `req` accepts it and there is one. It is made in the background once somebody asks for
   * it: most responses are never sent a second time. Until then the body goes out as it is.
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
