import type { ServerResponse } from 'node:http';
import { randomText } from 'parley-forum/plugins/api';
import { DATA_POLICY, type Policy, type Protection } from 'parley-forum/plugins/protection';
import { NONCE_PLACEHOLDER } from './placeholders.ts';

const SELF = ["'self'"];
/** No 'self' for scripts: uploads share the origin, and with 'strict-dynamic' injected markup cannot pull one in. */
const PAGE_POLICY: Policy = {
  'default-src': ["'none'"],
  'script-src': [`'nonce-${NONCE_PLACEHOLDER}'`, "'strict-dynamic'"],
  'style-src': SELF,
  'img-src': ["'self'", 'data:', 'blob:'],
  'font-src': SELF,
  'connect-src': SELF,
  'media-src': SELF,
  'manifest-src': SELF,
  'worker-src': SELF,
  'frame-src': SELF,
  'frame-ancestors': SELF,
  'form-action': SELF,
  'base-uri': ["'none'"],
  'object-src': ["'none'"],
  'require-trusted-types-for': ["'script'"],
  'trusted-types': ['forum-html'],
};
const POLICY = 'Content-Security-Policy';

/** Security headers of pages, precomputed around each response's nonce. */
export class PageHeaders {
  readonly #protection: Protection;
  #version = -1;
  /** Alternating names and values. */
  #pages: readonly string[] = [];
  /** The policy, split at the nonce placeholders. */
  #policy: readonly string[] = [];

  constructor(protection: Protection) {
    this.#protection = protection;
  }

  /** Alternating names and values, as `writeHead` takes them. Without a nonce the policy is left out (304). */
  forPage(nonce: string | undefined): string[] {
    if (this.#version !== this.#protection.version) this.#build();
    return nonce === undefined ? [...this.#pages] : [...this.#pages, POLICY, this.#policy.join(nonce)];
  }

  /** For responses that are data, not pages. */
  protect(res: ServerResponse): void {
    for (const [name, value] of this.#protection.headers(DATA_POLICY)) res.setHeader(name, value);
  }

  #build(): void {
    this.#version = this.#protection.version;
    const all = this.#protection.headers(this.#protection.open(PAGE_POLICY));
    this.#policy = (all.find(([name]) => name === POLICY)?.[1] ?? '').split(NONCE_PLACEHOLDER);
    this.#pages = all.filter(([name]) => name !== POLICY).flat();
  }
}

/** For a single response. */
export const createNonce = (): string => randomText(16, 'base64');
