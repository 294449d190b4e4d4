import { defineEntity, p } from 'parley-forum';
import type { AccountStatus } from 'parley-forum/plugins/accounts';

export const AccountEntity = defineEntity({
  name: 'Account',
  tableName: 'account',
  properties: {
    id: p.uuid().primary(),
    username: p.string(),
    email: p.string(),
    passwordHash: p.string().fieldName('password_hash'),
    /** SHA-256 of the bearer token. */
    apiToken: p.string().fieldName('api_token').nullable(),
    apiTokenUsedAt: p.datetime().fieldName('api_token_used_at').nullable(),
    permissionsVersion: p.integer().fieldName('permissions_version').default(1),
    registrationIp: p.string().fieldName('registration_ip').nullable(),
    lastIp: p.string().fieldName('last_ip').nullable(),
    groupId: p.string().fieldName('group_id'),
    displayName: p.string().fieldName('display_name').nullable(),
    /** The `foldedName` of the display name, used by searches. */
    displayNameKey: p.string().fieldName('display_name_key').nullable(),
    bio: p.text().default(''),
    avatarUrl: p.string().fieldName('avatar_url').nullable(),
    language: p.string().nullable(),
    timezone: p.string().nullable(),
    status: p.string().$type<AccountStatus>().default('active'),
    joinedAt: p.datetime().fieldName('joined_at'),
    lastSeenAt: p.datetime().fieldName('last_seen_at').nullable(),
    lastLoginAt: p.datetime().fieldName('last_login_at').nullable(),
  },
});
