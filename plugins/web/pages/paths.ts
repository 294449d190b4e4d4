import type { Request, RouteInfo } from 'parley-forum';
import { pages } from '../api.ts';

export const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Routes of the page surface for this method. */
const routesFor = <O extends object>(
  routes: readonly RouteInfo<O>[],
  method: RouteInfo['method'],
): readonly RouteInfo<O>[] => routes.filter((route) => route.surface.id === pages.id && route.method === method);

const segmentsOf = (path: string): readonly string[] => path.split('/').filter(Boolean);
const matches = (pattern: readonly string[], segments: readonly string[]): boolean =>
  pattern.length === segments.length &&
  pattern.every((part, index) => part.startsWith(':') || part === segments[index]);

/**
 * Whether a path, or a route's pattern, belongs to the admin panel: writes below it are administration, whichever
 * plugin owns the route.
 */
export const isAdminPath = (path: string): boolean => safeDecode(segmentsOf(path)[0] ?? '') === 'admin';

/** The route that a form is sent to. */
export const findFormRoute = <O extends object>(
  routes: readonly RouteInfo<O>[],
  action: string,
): RouteInfo<O> | undefined =>
  routesFor(routes, 'post').find(({ path }) => matches(segmentsOf(path), segmentsOf(action)));

/** The page above a form's URL: the longest prefix of its path that has a page. */
export function parentPage(routes: readonly RouteInfo[], path: string): string {
  const open = routesFor(routes, 'get').map((route) => segmentsOf(route.path));
  for (let segments = segmentsOf(path).slice(0, -1); segments.length > 0; segments = segments.slice(0, -1)) {
    if (open.some((pattern) => matches(pattern, segments))) return `/${segments.join('/')}`;
  }
  return '/';
}

/** The page a request comes from: the requested page itself, or the page that contains the form. */
export function currentPage(req: Request): string {
  const from = SAFE_METHODS.has(req.method) ? undefined : req.headers.referer;
  if (from === undefined || !URL.canParse(from)) return SAFE_METHODS.has(req.method) ? req.originalUrl : '/';
  const { pathname, search } = new URL(from);
  // A path that starts with two slashes would be read as another host.
  return pathname.startsWith('//') ? '/' : pathname + search;
}

/** The values of a path's parameters. */
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
