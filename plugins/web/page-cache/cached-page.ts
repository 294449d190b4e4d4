import { hash } from 'node:crypto';
import { BodyTemplate } from 'parley-forum';
import { placesIn, type ResponsePlace } from '../pages/placeholders.ts';

/** Hash of a page with its placeholders: equal for equal pages, no matter which user they are for. */
export const pageHash = (html: Buffer): string => hash('sha256', html, 'base64url').slice(0, 16);

/** A page cached as bytes around the placeholders that every response fills. */
export class CachedPage {
  readonly path: string;
  /** Identifies everything but nonce and token. */
  readonly hash: string;
  readonly body: BodyTemplate<ResponsePlace['name']>;
  /** Bytes held, about: with a few buffers that are on their way, and the compressed form. */
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
