import { Type, type Static } from 'parley-forum';

export const privacySettings = Type.Object({
  'privacy.export_rate_limit': Type.Integer({
    default: 3,
    minimum: 1,
    title: 'Copies of their data a member may ask for in a day',
    'x-group': 'limits',
    description: 'Each reads everything that the member wrote.',
  }),
  'privacy.grace_days': Type.Integer({
    default: 7,
    minimum: 0,
    maximum: 365,
    title: 'Days before an account is deleted',
    'x-group': 'security',
    description: 'Within them its member can come back by logging in. 0 deletes at once.',
  }),
});
export type PrivacySettings = Static<typeof privacySettings>;
