import { etagOf, HttpError, type RequestContext, type RouteInfo, type Routes } from 'parley-forum';
import type { ApiContext, ApiOptions } from 'parley-forum/plugins/api';
import { successBytes } from './responses.ts';

/** The header that names what the caller saw of what it changes. */
export const CONDITION = 'If-Match';

/** Whether the route changes what its address names, which may have been changed by others since it was read. */
export const isChange = ({ method }: Pick<RouteInfo, 'method'>): boolean =>
  method === 'put' || method === 'patch' || method === 'delete';

/** Tags are compared without their `W/`: what is changed is the same, whichever way it was sent. */
const tagsIn = (header: string): readonly string[] => header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));

/**
 * Throws 412 where the request names with `If-Match` what its caller saw under its address, and GET answers something
 * else by now. What happens between this look and the change is not noticed.
 */
export async function assertUnchanged(routes: Routes, call: RequestContext<ApiContext, ApiOptions>): Promise<void> {
  const header = call.req.get(CONDITION);
  if (header === undefined) return;
  const now = await routes.representation(call);
  const known = tagsIn(header);
  if (now && (known.includes('*') || known.includes(tagsIn(etagOf(successBytes(now)))[0]!))) return;
  throw new HttpError(
    412,
    now
      ? 'This was changed since you read it; read it again, and repeat your change'
      : `This address cannot be read, so ${CONDITION} fits nothing; leave it out`,
    { code: 'precondition_failed' },
  );
}
