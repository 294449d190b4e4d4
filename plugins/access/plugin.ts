import { Authorizer, Cache, Data, definePlugin } from '#core';
import { Access, type Viewer } from '#plugins/access';
import { DecisionEntity, GroupEntity } from './entities.ts';
import { AccessService } from './service.ts';

export default definePlugin({
  id: 'access',
  name: 'Groups and permissions',
  version: '1.0.0',
  description: 'Groups on a ladder of rights, and what each may do.',
  needs: { data: Data, cache: Cache },
  provides: { access: Access, authorizer: Authorizer },
  entities: [GroupEntity, DecisionEntity],
  async setup({ data, cache }) {
    const access = new AccessService(data, cache);
    await access.refresh();
    return {
      access,
      authorizer: { allows: (actor, permission) => actor !== undefined && access.allows(actor as Viewer, permission) },
    };
  },
});
