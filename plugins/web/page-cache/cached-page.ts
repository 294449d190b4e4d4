import { hash } from 'node:crypto';
import { BodyTemplate } from 'parley-forum';
import { placesIn, type ResponsePlace } from '../pages/placeholders.ts';

/** Hash of a page including its placeholders, so equal pages have equal hashes no matter which user they are for. */
export const pageHash = (html: Buffer): string => hash('sha256', html, 'base64url').slice(0, 16);

/** A page cached as the bytes around the placeholders that are filled for every response. */
export class CachedPage {
  readonly path: string;
  /** Identifies the page apart from its nonce and token. */
  readonly hash: string;
  readonly body: BodyTemplate<ResponsePlace['name']>;
  /** Approximate bytes in memory, including the compressed form and a few buffers that are being sent. */
  readonly size: number;

  constructor(html: Buffer, path: string) {
    this.path = path;
    this.hash = pageHash(html);
    let from = 0;
    const segments = placesIn(html).flatMap(({ name, at, length }) => {
      const before = html.subarray(from, at);
      from = at + length;
      return [before, { name, length }];
    });
    this.body = new BodyTemplate([...segments, html.subarray(from)]);
    this.size = 3 * this.body.length;
  }
}
