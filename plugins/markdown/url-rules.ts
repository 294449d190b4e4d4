/** Which URLs texts may link to. Plain data: it is handed to the worker thread. */
export interface UrlRules {
  /** This site's origin, without a trailing slash. */
  readonly origin: string;
  /** Hosts besides this site whose images are shown in place; `*` stands for all. */
  readonly imageHosts: readonly string[];
}

export interface Target {
  /** Serialised from the parsed URL, so that what was checked is what browsers follow. */
  readonly href: string;
  /** On another host. */
  readonly external: boolean;
}

/** The `rel` of links that members wrote to other hosts. */
export const EXTERNAL_REL = 'nofollow ugc noopener';

/** Longer URLs are of no use and let a short text grow into a long page. */
export const MAX_URL_LENGTH = 2_048;

/** Where a link may lead: http, https, mailto and paths of this site; `undefined` for everything else. */
export function linkTarget(href: string, { origin }: UrlRules): Target | undefined {
  if (href.length > MAX_URL_LENGTH) return undefined;
  const url = URL.parse(href, href.startsWith('/') ? origin : undefined);
  if (!url || url.username || url.password) return undefined;
  if (url.protocol === 'mailto:') return { href: url.href, external: false };
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined;
  if (!href.startsWith('/')) return { href: url.href, external: url.origin !== origin };
  const path = url.pathname + url.search + url.hash;
  // "//host" and "/\host" leave the site, and so would "/.//host" once it is written as a path again.
  return url.origin === origin && !path.startsWith('//') ? { href: path, external: false } : undefined;
}

/**
 * Where this site has files; anything else of its own is a route, which an image would call with the reader's session.
 */
const FILES = /^\/(?:uploads|assets)\//;
/** Dots, slashes and control characters that whoever serves a file may decode once more. */
const ENCODED = /%(?:[01][0-9a-f]|25|2e|2f|5c)/i;

/**
 * The URL of an image that may be shown in place; `undefined`: it may at most be linked. Checked as browsers will
 * serialise it.
 */
export function imageSource(href: string, rules: UrlRules): string | undefined {
  const target = linkTarget(href, rules);
  const url = target && URL.parse(target.href, rules.origin);
  if (!target || !url || url.protocol === 'mailto:') return undefined;
  if (url.origin === rules.origin)
    return FILES.test(url.pathname) && !ENCODED.test(url.pathname) ? target.href : undefined;
  const { imageHosts } = rules;
  const known = imageHosts.includes(url.host) || imageHosts.includes('*');
  return url.protocol === 'https:' && known ? target.href : undefined;
}
