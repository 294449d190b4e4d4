import { defineExtensionPoint, defineToken, HttpError, type Request, type Response } from 'parley-forum';

/** A header's name and value. */
export type HeaderPair = readonly [name: string, value: string];
/** Directives of a Content-Security-Policy; `upgrade-insecure-requests` is added depending on the setting. */
export type Policy = Readonly<Record<string, readonly string[]>>;

/** For responses that are data: nothing may be loaded, framed or submitted. */
export const DATA_POLICY: Policy = {
  'default-src': ["'none'"],
  'frame-ancestors': ["'none'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
};

/** Hosts outside the site from which a plugin's pages load resources. Never scripts or styles. */
export interface ForeignSource {
  readonly directive: 'img-src' | 'frame-src' | 'connect-src' | 'media-src';
  /** Called whenever the headers are rebuilt, which `Protection.refresh` triggers. */
  hosts(): readonly string[];
}
export const foreignSources = defineExtensionPoint<ForeignSource>(
  'protection.sources',
  'Hosts outside the site that the plugin’s pages load pictures, frames or data from; never scripts or styles.',
);

export const reportPaths = defineExtensionPoint<string>(
  'protection.report-paths',
  'A path of this site to which browsers report what a page’s policy blocked.',
  { order: 'The first one is used.' },
);

/** The URL must not be requested from this server. The message says how to fix that. */
export class BlockedUrl extends Error {
  override readonly name = 'Blocked';
}
/** Rules for a guard: what is allowed besides public hosts on their usual ports. */
export interface UrlGuardOptions {
  /** Host names and IP addresses that are always allowed, on any port, as the operator wrote them. */
  readonly allowedHosts: readonly string[];
  readonly allowedPorts: readonly number[];
  /** Names of the environment variables in which an operator can allow more, for messages. */
  readonly variables: { readonly hosts: string; readonly ports?: string };
  /** Whether plain http is refused. */
  readonly secure: boolean;
  /** Resolves all IP addresses of a name; default: queries name servers. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}
/** A request to another server. */
export interface GuardedRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Aborts the lookup, the request and the reading of its response. */
  readonly signal: AbortSignal;
}
/** A response of another server, as bytes. */
export interface GuardedResponse extends Pick<Request, 'statusCode' | 'headers'>, AsyncIterable<Uint8Array> {
  /** Closes a response that is not read any further. */
  destroy(): unknown;
}
/** An address that a name resolves to. */
export interface ResolvedAddress {
  readonly address: string;
  /** 4 or 6. */
  readonly family: number;
}
/** Keeps requests to other servers from reaching this server's internal network (SSRF). */
export interface UrlGuard {
  /** Performs the checks that need no lookup. Throws `BlockedUrl`. */
  check(url: URL): void;
  /**
   * The addresses a request to `url` may use: connect to these and no others, since the name may resolve differently a
   * moment later. Throws `BlockedUrl` if even one of them is not public; other errors come from the name servers.
   */
  resolve(url: URL): Promise<readonly ResolvedAddress[]>;
  /**
   * Sends a request; resolves once the response headers have arrived. Redirects are not followed, and connections are
   * not reused. Throws the same errors as `resolve`.
   */
  request(url: URL, request: GuardedRequest): Promise<GuardedResponse>;
}

/** Shared by all surfaces: security headers of responses, reading of request bodies, and requests to other servers. */
export interface Protection {
  /**
   * The security headers with this policy. Returns the same list until something changes, so it may be cached per
   * policy.
   */
  headers(policy: Policy): readonly HeaderPair[];
  /** Sets the headers of a response that is saved as a file and must not be cached. */
  startDownload(res: Response, file: { readonly name: string; readonly type: string }): void;
  /** A page's `policy` extended by the foreign sources of all plugins and by the path for violation reports. */
  open(policy: Policy): Policy;
  /** Incremented on each change: anything derived from the headers of an earlier version is out of date. */
  readonly version: number;
  refresh(): void;
  /**
   * Reads and parses the request's body; call it once per request. Accepts JSON in UTF-8, and urlencoded bodies
   * (`a[b]`, `a[]`) if `form` is set. A missing body is an empty object. Throws 400 (also above `MAX_CHUNKS`), 413
   * (over 64 KiB, or over 1 MiB if the body carries a `longText`; too many fields) or 415.
   */
  body(req: Request, options: { readonly form: boolean; readonly longText?: boolean }): Promise<unknown>;
  /**
   * Reads the raw body, for signatures over the bytes or for other content types; used instead of `body`. Throws 413
   * above `maxBytes` (default: 1 MiB), and 400 above `MAX_CHUNKS`.
   */
  bytes(req: Request, maxBytes?: number): Promise<Buffer>;
  /** Parses JSON as `body` does. Throws 400. */
  json(bytes: Buffer): unknown;
  /** Creates a guard. All requests to URLs supplied by users must go through one. */
  urlGuard(options: UrlGuardOptions): UrlGuard;
}
export const Protection = defineToken<Protection>('Protection');

/** Maximum number of chunks of a body; each costs some microseconds and some hundred bytes, however small it is. */
export const MAX_CHUNKS = 16_384;
/** The rest of the body is not read, so the connection is closed. */
export const tooManyChunks = (): HttpError =>
  new HttpError(400, 'The body was sent in too many chunks', { headers: { Connection: 'close' } });

/**
 * The name of a cookie of this forum: with the `__Host-` prefix under https, so that it cannot be set by another host
 * or over plain http.
 */
export const cookieName = (base: string, secure: boolean): string => (secure ? `__Host-${base}` : base);

/**
 * Extracts one cookie from a raw Cookie header, without decoding it. Done by hand, as parsing the whole header takes
 * longer than serving a cached page.
 */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const start = header === undefined ? -1 : ` ${header}`.indexOf(` ${name}=`);
  if (header === undefined || start < 0) return undefined;
  const from = start + name.length + 1;
  const end = header.indexOf(';', from);
  return header.slice(from, end < 0 ? undefined : end);
}
