import { hash } from 'node:crypto';
import { BodyTemplate } from 'parley-forum';
import { csrfPlaceholder } from '../api.ts';
import { splitAtPlaceholders } from '../pages/placeholders.ts';

// 16 random bytes in base64, and an HMAC-SHA256 in base64url.
const NONCE = { name: 'nonce', length: 24 } as const;
const CSRF = { name: 'csrf', length: 43 } as const;

/** Hash of a page with its placeholders: equal for equal pages, no matter which user they are for. */
export const pageHash = (text: string): string => hash('sha256', text, 'base64url').slice(0, 16);

/** A page cached as bytes around the placeholders that every response fills. */
export class CachedPage {
  readonly path: string;
  /** Identifies everything but nonce and token. */
  readonly hash: string;
  readonly body: BodyTemplate<'nonce' | 'csrf'>;
  /** Bytes held, about: with a few buffers that are on their way, and the compressed form. */
  readonly size: number;

  constructor(text: string, path: string) {
    this.path = path;
    this.hash = pageHash(text);
    this.body = new BodyTemplate(
      splitAtPlaceholders(text).map((segment, index) =>
        index % 2 === 0 ? Buffer.from(segment) : segment === csrfPlaceholder ? CSRF : NONCE,
      ),
    );
    this.size = 3 * this.body.length;
  }
}
