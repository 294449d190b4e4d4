import { defineExtensionPoint, defineToken, type Request } from 'parley-forum';

/** A header's name and value. */
export type HeaderPair = readonly [name: string, value: string];
/** Directives of a Content-Security-Policy; `upgrade-insecure-requests` is added by the setting. */
export type Policy = Readonly<Record<string, readonly string[]>>;

/** Nothing may be loaded, framed or submitted: for responses that are data. */
export const DATA_POLICY: Policy = {
  'default-src': ["'none'"],
  'frame-ancestors': ["'none'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
};

/** Hosts outside the site that a plugin's pages load from. Never scripts or styles. */
export interface ForeignSource {
  readonly directive: 'img-src' | 'frame-src' | 'connect-src' | 'media-src';
  /** Read each time the headers are made anew, which `Protection.refresh` causes. */
  hosts(): readonly string[];
}
export const foreignSources = defineExtensionPoint<ForeignSource>(
  'protection.sources',
  'Hosts outside the site that the plugin’s pages load pictures, frames or data from; never scripts or styles.',
);

export const reportPaths = defineExtensionPoint<string>(
  'protection.report-paths',
  'A path of this site to which browsers report what a page’s policy blocked.',
  { order: 'The first one counts.' },
);

/** What all surfaces share: the security headers of responses, and how bodies are read. */
export interface Protection {
  /** The protecting headers with this policy. The same list until something changes, so it may be cached per policy. */
  headers(policy: Policy): readonly HeaderPair[];
  /** A page's `policy` with the foreign sources of all plugins, and where it is reported to, added. */
  open(policy: Policy): Policy;
  /** Counts changes: what was made from headers of an earlier count is out of date. */
  readonly version: number;
  refresh(): void;
  /**
   * The request's body as a value; to be called once for a request: JSON in UTF-8, and urlencoded (`a[b]`, `a[]`) where `form`. An absent
   * body is an empty object. Throws 400, 413 (over 64 KiB, or over 1 MiB where the body carries a `longText`; too many
   * fields) or 415.
   */
  body(req: Request, options: { readonly form: boolean; readonly longText?: boolean }): Promise<unknown>;
  /**
   * The body as it came, where what was signed is the bytes or its type is another; in place of `body`. Throws 413
   * above `largest` (default: 1 MiB).
   */
  bytes(req: Request, maxBytes?: number): Promise<Buffer>;
  /** What `body` makes of JSON. Throws 400. */
  json(bytes: Buffer): unknown;
}
export const Protection = defineToken<Protection>('Protection');

/**
 * What a cookie of this forum is called: with the `__Host-` prefix under https, so that no other host and no plain http
 * can set it.
 */
export const cookieName = (base: string, secure: boolean): string => (secure ? `__Host-${base}` : base);

/** One cookie of a raw Cookie header, without decoding. By hand: parsing all of it takes longer than a cached page. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const start = header === undefined ? -1 : ` ${header}`.indexOf(` ${name}=`);
  if (header === undefined || start < 0) return undefined;
  const from = start + name.length + 1;
  const end = header.indexOf(';', from);
  return header.slice(from, end < 0 ? undefined : end);
}
