import { Type } from 'parley-forum';
import { api } from 'parley-forum/plugins/api';
import { moderate } from 'parley-forum/plugins/discussions';
import type { RouteDeps } from '../discussion-routes.ts';
import { ReasonField } from '../schemas.ts';
import { BULK_ACTIONS, doInBulk, MAX_BULK } from './bulk-actions.ts';

/** Fields shared by the bodies of the API and of the form. */
export const BulkBody = {
  action: Type.Enum([...BULK_ACTIONS]),
  category_id: Type.Optional(
    Type.String({ maxLength: 100, description: 'The category to which they are moved: id or slug' }),
  ),
  tag: Type.Optional(
    Type.String({ maxLength: 200, description: 'The tag that is added or removed: name, slug or id' }),
  ),
  into: Type.Optional(
    Type.String({ maxLength: 2_000, description: 'The discussion into which they are merged: id, number or URL' }),
  ),
  reason: ReasonField,
};

/** POST /api/discussions/bulk. */
export function bulkRoutes(deps: RouteDeps): void {
  deps.plugin.route(api, {
    method: 'post',
    path: '/discussions/bulk',
    can: moderate,
    summary: 'Lock, pin, move, tag, merge, delete or restore several discussions',
    body: Type.Object({
      discussion_ids: Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { minItems: 1, maxItems: MAX_BULK }),
      ...BulkBody,
    }),
    result: Type.Object({
      results: Type.Array(
        Type.Object({
          discussion_id: Type.String(),
          success: Type.Boolean(),
          error: Type.Optional(Type.String({ description: 'Why this one was not changed' })),
        }),
        { description: 'One per discussion, in the order of the request' },
      ),
    }),
  })(async ({ actor, body: { discussion_ids: ids, action, category_id: categoryId, tag, into, reason } }) => {
    const results = await doInBulk(deps, { ids, action, categoryId, tag, into }, { viewer: actor, reason });
    return {
      results: results.map(({ id, error }) => ({
        discussion_id: id,
        success: error === undefined,
        ...(error !== undefined && { error }),
      })),
    };
  });
}
