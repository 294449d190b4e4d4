import { etagOf, HttpError, type RequestContext, type RouteInfo, type Routes } from 'parley-forum';
import type { ApiContext, ApiOptions } from 'parley-forum/plugins/api';
import { successBytes } from './responses.ts';
import type { Turns } from './turns.ts';

/** The header that names what the caller saw of what it changes. */
export const CONDITION = 'If-Match';

/** Whether the route changes what its address names, which may have been changed by others since it was read. */
export const isChange = ({ method }: Pick<RouteInfo, 'method'>): boolean =>
  method === 'put' || method === 'patch' || method === 'delete';

/** What is changed is the same, whichever way it was sent, so tags are compared without their `W/`. */
const strong = (tag: string): string => tag.trim().replace(/^W\//, '');

/**
 * Runs `handler` unless what the caller saw is out of date. Of several that saw the same one is carried out, as the next
 * looks when it has ended; only what another process, or a change without a condition, does between look and change is
 * not noticed.
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
 * `seen`: the tags of what the caller saw under the address of its request. Throws 412 where GET answers something else
 * by now.
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
      ? 'This was changed since you read it; read it again, and repeat your change'
      : `This address cannot be read, so ${CONDITION} fits nothing; leave it out`,
    { code: 'precondition_failed' },
  );
}
