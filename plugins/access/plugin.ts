import { Authorizer, Cache, Clock, Data, definePlugin } from 'parley-forum';
import { Access, groupSaved, permissionDecided, type Viewer } from 'parley-forum/plugins/access';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { DecisionEntity, GroupEntity } from './entities.ts';
import { AccessService } from './service.ts';

export default definePlugin({
  id: 'access',
  name: 'Groups and permissions',
  version: '2.0.0',
  description: 'Groups, permissions and suspensions.',
  needs: { data: Data, cache: Cache, clock: Clock },
  provides: { access: Access, authorizer: Authorizer },
  hooks: [groupSaved, permissionDecided],
  entities: [GroupEntity, DecisionEntity],
  async setup({ data, cache, clock }, plugin) {
    const access = new AccessService({ data, cache, clock, emit: plugin.emit });
    plugin.extend(
      auditRules,
      audited(groupSaved, ['group.saved'], ({ group: { id, name, level }, by }) => ({
        action: 'group.saved',
        actor: by,
        subject: { type: 'group', id },
        details: { name, level },
      })),
    );
    plugin.extend(
      auditRules,
      audited(permissionDecided, ['permission.decided'], ({ groupId, permission, allowed, by }) => ({
        action: 'permission.decided',
        actor: by,
        subject: { type: 'group', id: groupId },
        details: { permission, ...(allowed !== undefined && { allowed }) },
      })),
    );
    await access.refresh();
    return {
      access,
      authorizer: {
        allows: (actor, permission) => actor !== undefined && access.admitted(actor as Viewer, permission),
        identifies: (actor) => (actor as Viewer | undefined)?.id !== undefined,
      },
    };
  },
});
