/** The URLs that texts may link to. Plain data, because it is passed to the worker thread. */
export interface UrlRules {
  /** This site's origin, without a trailing slash. */
  readonly origin: string;
  /** Other hosts whose images are shown inline; `*` stands for all. */
  readonly imageHosts: readonly string[];
}

export interface Target {
  /** Serialised from the parsed URL, so that browsers follow exactly what was checked. */
  readonly href: string;
  /** On another host. */
  readonly external: boolean;
}

/** The `rel` of members' links to other hosts. */
export const EXTERNAL_REL = 'nofollow ugc noopener';

/** Longer URLs are useless and let a short text grow into a long page. */
export const MAX_URL_LENGTH = 2_048;

/** The target of a link: http, https, mailto or a path on this site; `undefined` for everything else. */
export function linkTarget(href: string, { origin }: UrlRules): Target | undefined {
  if (href.length > MAX_URL_LENGTH) return undefined;
  const url = URL.parse(href, href.startsWith('/') ? origin : undefined);
  if (!url || url.username || url.password) return undefined;
  if (url.protocol === 'mailto:') return { href: url.href, external: false };
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined;
  if (!href.startsWith('/')) return { href: url.href, external: url.origin !== origin };
  const path = url.pathname + url.search + url.hash;
  // "//host" and "/\host" lead to another site, and so would "/.//host" once it is serialised as a path.
  return url.origin === origin && !path.startsWith('//') ? { href: path, external: false } : undefined;
}

/**
 * Paths of files on this site. Any other path of its own is a route, which an image would call with the reader's
 * session.
 */
const FILES = /^\/(?:uploads|assets)\//;
/** Encoded dots, slashes and control characters, which a file server may decode once more. */
const ENCODED = /%(?:[01][0-9a-f]|25|2e|2f|5c)/i;

/**
 * The URL of an image that may be shown inline; `undefined` if it may at most be linked. Checked as browsers will
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
