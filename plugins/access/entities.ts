import { defineEntity, p } from 'parley-forum';
import type { Level } from 'parley-forum/plugins/access';

export const GroupEntity = defineEntity({
  name: 'AccessGroup',
  tableName: 'access_group',
  properties: {
    id: p.string().primary(),
    name: p.string(),
    level: p.string().$type<Level>(),
    builtIn: p.boolean().fieldName('built_in').default(false),
  },
});

export const DecisionEntity = defineEntity({
  name: 'AccessDecision',
  tableName: 'access_decision',
  properties: {
    groupId: p.string().fieldName('group_id').primary(),
    permission: p.string().primary(),
    allowed: p.boolean(),
  },
});
