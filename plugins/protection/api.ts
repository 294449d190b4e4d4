import { defineExtensionPoint, defineToken, HttpError, type Request, type Response } from 'parley-forum';

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

/** The URL may not be reached from this server. The message says what to do. */
export class BlockedUrl extends Error {
  override readonly name = 'Blocked';
}
/** What is called besides public hosts on their usual ports. */
export interface UrlGuardOptions {
  /** Host names and IPs that may always be reached, on any port, as the operator wrote them. */
  readonly allowedHosts: readonly string[];
  readonly allowedPorts: readonly number[];
  /** Names of the variables in which an operator allows more, for messages. */
  readonly variables: { readonly hosts: string; readonly ports?: string };
  /** Whether plain http is refused. */
  readonly secure: boolean;
  /** All IPs of a name; default: asks name servers. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}
/** One request to another server. */
export interface GuardedRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Ends the lookup, the request and the reading of its response. */
  readonly signal: AbortSignal;
}
/** The response of another server, as bytes. */
export interface GuardedResponse extends Pick<Request, 'statusCode' | 'headers'>, AsyncIterable<Uint8Array> {
  /** For a response that is read no further. */
  destroy(): unknown;
}
/** Where a name leads. */
export interface ResolvedAddress {
  readonly address: string;
  /** 4 or 6. */
  readonly family: number;
}
/** Keeps requests to other servers from reaching this server's internal network (SSRF). */
export interface UrlGuard {
  /**
   * The addresses a request to `url` may go to: connect to these and to no others, since the name may mean
   * something else a moment later. Throws `BlockedUrl`, also when only one of them is not public; other errors are the
   * name servers'.
   */
  resolve(url: URL): Promise<readonly ResolvedAddress[]>;
  /**
   * Resolves to the beginning of the response; redirects are not followed, and no connection is used again. Throws what `resolve` does.
   */
  request(url: URL, request: GuardedRequest): Promise<GuardedResponse>;
}

/** What all surfaces share: the security headers of responses, how bodies are read, and how other servers are called. */
export interface Protection {
  /** The protecting headers with this policy. The same list until something changes, so it may be cached per policy. */
  headers(policy: Policy): readonly HeaderPair[];
  /** The head of an answer that is saved as a file, and kept nowhere on its way. */
  startDownload(res: Response, file: { readonly name: string; readonly type: string }): void;
  /** A page's `policy` with the foreign sources of all plugins, and where it is reported to, added. */
  open(policy: Policy): Policy;
  /** Counts changes: what was made from headers of an earlier count is out of date. */
  readonly version: number;
  refresh(): void;
  /**
   * The request's body as a value; to be called once for a request: JSON in UTF-8, and urlencoded (`a[b]`, `a[]`) where `form`. An absent
   * body is an empty object. Throws 400 (also above `MAX_CHUNKS`), 413 (over 64 KiB, or over 1 MiB where the body carries a `longText`; too many
   * fields) or 415.
   */
  body(req: Request, options: { readonly form: boolean; readonly longText?: boolean }): Promise<unknown>;
  /**
   * The body as it came, where what was signed is the bytes or its type is another; in place of `body`. Throws 413
   * above `maxBytes` (default: 1 MiB), and 400 above `MAX_CHUNKS`.
   */
  bytes(req: Request, maxBytes?: number): Promise<Buffer>;
  /** What `body` makes of JSON. Throws 400. */
  json(bytes: Buffer): unknown;
  /** Whatever calls servers that others have named does it through such a guard. */
  urlGuard(options: UrlGuardOptions): UrlGuard;
}
export const Protection = defineToken<Protection>('Protection');

/** Chunks of a body; each takes the process some microseconds and some hundred bytes, however small it is. */
export const MAX_CHUNKS = 16_384;
/** What follows the answer is not read, so the connection is closed. */
export const tooManyChunks = (): HttpError =>
  new HttpError(400, 'The body came in too many chunks', { headers: { Connection: 'close' } });

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
