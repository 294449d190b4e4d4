import { etagOf, HttpError, type RequestContext, type RouteInfo, type Routes } from 'parley-forum';
import type { ApiContext, ApiOptions } from 'parley-forum/plugins/api';
import { successBytes } from './responses.ts';
import type { Turns } from './turns.ts';

/** The header with the ETag of the representation that the caller wants to change. */
export const CONDITION = 'If-Match';

/** Whether the route changes the resource at its address, which others may have changed since the caller read it. */
export const isChange = ({ method }: Pick<RouteInfo, 'method'>): boolean =>
  method === 'put' || method === 'patch' || method === 'delete';

/** A weak and a strong tag denote the same resource here, however it was sent, so tags are compared without `W/`. */
const strong = (tag: string): string => tag.trim().replace(/^W\//, '');

/**
 * Runs `handler` unless the caller's version is out of date. If several callers saw the same version, only one of them
 * succeeds, because each checks after the previous one has finished. Not detected: changes made between check and write
 * by another process, or by a request without a condition.
 */
export const ifUnchanged = <T>(
  { routes, turns }: { readonly routes: Routes; readonly turns: Turns },
  call: RequestContext<ApiContext, ApiOptions>,
  seen: string,
  handler: () => Promise<T>,
): Promise<T> =>
  turns.run(call.req.path, async () => {
    await assertUnchanged(routes, call, seen);
    return handler();
  });

/**
 * `seen`: the ETags of what the caller read at the address of its request. Throws 412 if GET would return something
 * else by now.
 */
async function assertUnchanged(
  routes: Routes,
  call: RequestContext<ApiContext, ApiOptions>,
  seen: string,
): Promise<void> {
  const now = await routes.representation(call);
  const known = seen.split(',').map(strong);
  if (now && (known.includes('*') || known.includes(strong(etagOf(successBytes(now)))))) return;
  throw new HttpError(
    412,
    now
      ? 'This has changed since you read it; read it again and repeat your change'
      : `This URL cannot be read, so ${CONDITION} matches nothing; omit it`,
    { code: 'precondition_failed' },
  );
}
