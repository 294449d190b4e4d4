import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';

type Pair = readonly [name: string, value: string];

export interface HeaderOptions {
  /** Whether the site is served over https, so that browsers may remember it. */
  readonly secure: boolean;
  /** Whether `upgrade-insecure-requests` is sent. */
  readonly upgrade: boolean;
}

const NONE = ["'none'"];
/** Data never runs, frames or submits anything. */
const DATA = { 'default-src': NONE, 'frame-ancestors': NONE, 'base-uri': NONE, 'form-action': NONE };
/** The human page has a style sheet of its own and no script at all. */
export const DOCUMENT_POLICY = { ...DATA, 'style-src': ["'self'"], 'img-src': ["'self'"], 'frame-ancestors': ["'self'"] };

/** The protecting headers of every answer below /api, the same as on pages but for the policy. */
export function protection({ secure, upgrade }: HeaderOptions, directives: Readonly<Record<string, readonly string[]>> = DATA): readonly Pair[] {
  const pairs: Pair[] = [];
  const policy = Object.fromEntries(Object.entries(directives).map(([name, values]) => [name, [...values]]));
  const run = helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { ...policy, ...(upgrade && { 'upgrade-insecure-requests': [] }) } },
    // Two years, as the preload list asks; subdomains may belong to somebody else.
    strictTransportSecurity: secure ? { maxAge: 63_072_000, includeSubDomains: false } : false,
    referrerPolicy: { policy: 'strict-origin-when-cross-origin' },
    xFrameOptions: { action: 'sameorigin' },
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
  });
  // helmet writes them once; every answer then sends what it wrote.
  const collector = { setHeader: (name: string, value: string) => void pairs.push([name, String(value)]), removeHeader: () => undefined };
  run({} as IncomingMessage, collector as unknown as ServerResponse, (error?: unknown) => {
    if (error) throw error;
  });
  return pairs;
}
