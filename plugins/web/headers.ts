import { randomFillSync } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';
import { NONCE_MARK } from './marks.ts';

type Pair = readonly [name: string, value: string];

const NONE = ["'none'"];
const SELF = ["'self'"];

/** What browsers are told about every answer; the one place where it is written. */
export class SecurityHeaders {
  #pages: readonly Pair[] = [];
  #others: readonly Pair[] = [];
  /** The policy around the nonce's places. */
  #policy: readonly string[] = [];

  /** `upgrade`: send upgrade-insecure-requests. `secure`: the site is served over https, so browsers may remember that. */
  configure({ upgrade, secure }: { upgrade: boolean; secure: boolean }): void {
    this.#others = collect({ upgrade, secure, directives: { 'default-src': NONE, 'frame-ancestors': NONE, 'base-uri': NONE, 'form-action': NONE } });
    const pages = collect({
      upgrade, secure,
      directives: {
        'default-src': NONE, 'script-src': [`'nonce-${NONCE_MARK}'`, "'strict-dynamic'"], 'style-src': SELF, 'img-src': ["'self'", 'data:', 'blob:'],
        'font-src': SELF, 'connect-src': SELF, 'media-src': SELF, 'manifest-src': SELF, 'worker-src': SELF, 'frame-src': SELF, 'frame-ancestors': SELF,
        'form-action': SELF, 'base-uri': NONE, 'object-src': NONE, 'require-trusted-types-for': ["'script'"], 'trusted-types': ['forum-html', 'forum-url'],
      },
    });
    this.#policy = (pages.find(([name]) => name === POLICY)?.[1] ?? '').split(NONCE_MARK);
    this.#pages = pages.filter(([name]) => name !== POLICY);
  }

  /** For pages: names and values in turn, as `writeHead` takes them. Without a nonce the policy is left out (304). */
  forPage(nonce: string | undefined): string[] {
    const flat = this.#pages.flat();
    if (nonce !== undefined) flat.push(POLICY, this.#policy.join(nonce));
    return flat;
  }

  /** For answers that are data, not pages. */
  protect(res: ServerResponse): void {
    for (const [name, value] of this.#others) res.setHeader(name, value);
  }
}

const POLICY = 'Content-Security-Policy';

interface Collected {
  readonly upgrade: boolean;
  readonly secure: boolean;
  readonly directives: Readonly<Record<string, readonly string[]>>;
}

/** helmet writes the headers once; every answer then sends what it wrote. */
function collect({ upgrade, secure, directives }: Collected): readonly Pair[] {
  const pairs: Pair[] = [];
  const run = helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { ...mutable(directives), ...(upgrade && { 'upgrade-insecure-requests': [] }) } },
    // Two years, as the preload list asks; subdomains may belong to somebody else.
    strictTransportSecurity: secure ? { maxAge: 63_072_000, includeSubDomains: false } : false,
    referrerPolicy: { policy: 'strict-origin-when-cross-origin' },
    xFrameOptions: { action: 'sameorigin' },
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
  });
  const res = { setHeader: (name: string, value: string) => void pairs.push([name, String(value)]), removeHeader: () => undefined };
  run({} as IncomingMessage, res as unknown as ServerResponse, (error?: unknown) => {
    if (error) throw error;
  });
  return pairs;
}
const mutable = (directives: Collected['directives']): Record<string, string[]> => Object.fromEntries(Object.entries(directives).map(([name, values]) => [name, [...values]]));

const POOL = Buffer.alloc(16 * 256);
let used = POOL.length;

/** 16 random bytes in base64 for one answer; drawn many at a time, because each draw costs more than its bytes. */
export function createNonce(): string {
  if (used === POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  return POOL.toString('base64', used, (used += 16));
}
