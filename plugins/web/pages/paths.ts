import type { Request, RouteInfo } from 'parley-forum';
import { pages } from '../api.ts';

export const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Routes of the page surface that answer this method. */
const answering = (routes: readonly RouteInfo[], method: RouteInfo['method']): readonly RouteInfo[] =>
  routes.filter((route) => route.surface.id === pages.id && route.method === method);

const partsOf = (path: string): readonly string[] => path.split('/').filter(Boolean);
const fits = (pattern: readonly string[], parts: readonly string[]): boolean =>
  pattern.length === parts.length && pattern.every((part, index) => part.startsWith(':') || part === parts[index]);

/**
 * True for the panel's own paths, and for patterns that begin like one: what is written there is administration,
 * whichever plugin it belongs to.
 */
export const belowAdmin = (path: string): boolean => safeDecode(partsOf(path)[0] ?? '') === 'admin';

/** The route that a form is sent to. */
export const formRoute = (routes: readonly RouteInfo[], action: string): RouteInfo | undefined =>
  answering(routes, 'post').find(({ path }) => fits(partsOf(path), partsOf(action)));

/** The page that the address of a form lies below: the longest part of its path that can be opened. */
export function pageAbove(routes: readonly RouteInfo[], path: string): string {
  const open = answering(routes, 'get').map((route) => partsOf(route.path));
  for (let parts = partsOf(path).slice(0, -1); parts.length > 0; parts = parts.slice(0, -1)) {
    if (open.some((pattern) => fits(pattern, parts))) return `/${parts.join('/')}`;
  }
  return '/';
}

/** Where whoever made the request is: the page asked for, or the one that its form stands on. */
export function pageOf(req: Request): string {
  const from = READS.has(req.method) ? undefined : req.headers.referer;
  if (from === undefined || !URL.canParse(from)) return READS.has(req.method) ? req.originalUrl : '/';
  const { pathname, search } = new URL(from);
  // A path that begins with two slashes would be read as another host.
  return pathname.startsWith('//') ? '/' : pathname + search;
}

/** What stands in a path at the names of its pattern. */
export function pathParams(pattern: string, path: string): Record<string, string> {
  const [names, values] = [pattern.split('/'), path.split('/')];
  const pairs = names.flatMap((name, index) =>
    name.startsWith(':') ? [[name.slice(1), safeDecode(values[index] ?? '')]] : [],
  );
  return Object.fromEntries(pairs) as Record<string, string>;
}
const safeDecode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};
