import { Type, type Static } from 'parley-forum';

export const privacySettings = Type.Object({
  'privacy.export_rate_limit': Type.Integer({
    default: 3,
    minimum: 1,
    title: 'Data exports per member and day',
    'x-group': 'limits',
    description: 'Each export reads everything the member has written.',
  }),
  'privacy.grace_days': Type.Integer({
    default: 7,
    minimum: 0,
    maximum: 365,
    title: 'Days before an account is deleted',
    'x-group': 'security',
    description: 'The member can cancel by logging in within this time. 0 deletes at once.',
  }),
});
export type PrivacySettings = Static<typeof privacySettings>;
