/** What addresses texts may point to. Plain data: it is handed to the worker thread. */
export interface Rules {
  /** This site's origin, without a trailing slash. */
  readonly origin: string;
  /** Hosts besides this site whose pictures are shown in place. */
  readonly imageHosts: readonly string[];
}

export interface Target {
  /** Written anew from the parsed address, so that what was checked is what browsers follow. */
  readonly href: string;
  /** On another host. */
  readonly foreign: boolean;
}

/** What search engines and the opened page are told about links that members wrote to other hosts. */
export const FOREIGN_REL = 'nofollow ugc noopener';

/** Longer addresses serve nobody and let a short text grow into a long page. */
const LONGEST = 2_048;

/** Where a link may lead: http, https, mailto and paths of this site; `undefined` for everything else. */
export function linkTarget(address: string, { origin }: Rules): Target | undefined {
  if (address.length > LONGEST) return undefined;
  const url = URL.parse(address, address.startsWith('/') ? origin : undefined);
  if (!url || url.username || url.password) return undefined;
  if (url.protocol === 'mailto:') return { href: url.href, foreign: false };
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined;
  if (!address.startsWith('/')) return { href: url.href, foreign: url.origin !== origin };
  const path = url.pathname + url.search + url.hash;
  // "//host" and "/\host" leave the site, and so would "/.//host" once it is written as a path again.
  return url.origin === origin && !path.startsWith('//') ? { href: path, foreign: false } : undefined;
}

/**
 * Where this site has files; anything else of its own is a route, which a picture would call in the name of whoever
 * reads.
 */
const FILES = /^\/(?:uploads|assets)\//;
/** Dots, slashes and control characters that whoever serves a file may decode once more. */
const ENCODED = /%(?:[01][0-9a-f]|25|2e|2f|5c)/i;

/**
 * The address of a picture that may be shown in place; `undefined`: it may at most be linked. Judged as browsers will
 * write it.
 */
export function imageSource(address: string, rules: Rules): string | undefined {
  const target = linkTarget(address, rules);
  const url = target && URL.parse(target.href, rules.origin);
  if (!target || !url || url.protocol === 'mailto:') return undefined;
  if (url.origin === rules.origin)
    return FILES.test(url.pathname) && !ENCODED.test(url.pathname) ? target.href : undefined;
  return url.protocol === 'https:' && rules.imageHosts.includes(url.host) ? target.href : undefined;
}
