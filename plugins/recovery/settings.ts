import { Type, type Static } from 'parley-forum';

export const recoverySettings = Type.Object({
  'password_reset.rate_limit': Type.Integer({
    default: 3,
    minimum: 1,
    'x-danger': true,
    title: 'Requests for a new password',
    'x-group': 'limits',
    description:
      'Per hour, for each network address and each e-mail address. The same limit applies to confirmation e-mails.',
  }),
  'security.password_reset_token_ttl': Type.Integer({
    default: 3_600,
    minimum: 900,
    maximum: 7_200,
    'x-danger': true,
    title: 'Lifetime of reset links',
    'x-group': 'security',
    description: 'Seconds for which the link to set a new password works.',
  }),
  'registration.email_verification': Type.Boolean({
    default: false,
    'x-danger': true,
    title: 'Confirm e-mail addresses',
    'x-group': 'email',
    description:
      'New members must follow a link in an e-mail before they can log in, members must do so to change their address, and forms do not reveal which ' +
      'addresses are in use. Existing members are not affected.',
  }),
  'registration.unconfirmed_days': Type.Integer({
    default: 7,
    minimum: 2,
    maximum: 365,
    title: 'Days to confirm an address',
    'x-group': 'email',
    description:
      'Afterwards an unconfirmed sign-up expires, and its name and address are free again. Only while confirmation is required.',
  }),
});
export type RecoverySettings = Static<typeof recoverySettings>;
