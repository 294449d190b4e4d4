import { defineExtensionPoint, defineToken, type Request } from '#core';

/** A header's name and value. */
export type HeaderPair = readonly [name: string, value: string];
/** Directives of a Content-Security-Policy; `upgrade-insecure-requests` is added by the setting. */
export type Policy = Readonly<Record<string, readonly string[]>>;

/** Nothing may be loaded, framed or submitted: for answers that are data. */
export const DATA_POLICY: Policy = { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"], 'base-uri': ["'none'"], 'form-action': ["'none'"] };

/** Hosts outside the site that pages may load from, by those who need them. Never scripts or styles. */
export interface ForeignSource {
  readonly directive: 'img-src' | 'frame-src' | 'connect-src' | 'media-src';
  /** Read each time the headers are made anew, which `Protection.refresh` causes. */
  hosts(): readonly string[];
}
export const foreignSources = defineExtensionPoint<ForeignSource>('protection.sources');

/** What every surface does alike: the headers that protect its answers, and how it reads bodies. */
export interface Protection {
  /** The protecting headers with this policy. The same list until something changes, so it may be kept per policy. */
  headers(policy: Policy): readonly HeaderPair[];
  /** `policy` with the foreign sources of all plugins added. */
  open(policy: Policy): Policy;
  /** Counts changes: what was made from headers of an earlier count is out of date. */
  readonly version: number;
  refresh(): void;
  /**
   * The request's body as a value, read once: JSON in UTF-8, and urlencoded (`a[b]`, `a[]`) where `form`. An absent body is an empty
   * object. Throws 400, 413 (over 1 MiB) or 415.
   */
  body(req: Request, options: { readonly form: boolean }): Promise<unknown>;
  /** The body as it came, where what was signed is the bytes; in place of `body`. Throws 413. */
  bytes(req: Request): Promise<Buffer>;
  /** What `body` makes of JSON. Throws 400. */
  json(bytes: Buffer): unknown;
}
export const Protection = defineToken<Protection>('Protection');
