import { Type, type Static } from 'parley-forum';

export const recoverySettings = Type.Object({
  'password_reset.rate_limit': Type.Integer({
    default: 3,
    minimum: 1,
    'x-danger': true,
    title: 'Requests for a new password',
    'x-group': 'limits',
    description: 'In an hour, for each network address and each e-mail address. As many mails that confirm an address.',
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
      'New members follow a link in a mail before they can log in, members who want another address before it is theirs, and forms do not tell whose ' +
      'address is in use. Members from before stay so.',
  }),
  'registration.unconfirmed_days': Type.Integer({
    default: 7,
    minimum: 2,
    maximum: 365,
    title: 'Days to confirm an address',
    'x-group': 'email',
    description:
      'Then a sign-up whose address nobody has confirmed ends, and its name and address are free again. Only while new members must confirm theirs.',
  }),
});
export type RecoverySettings = Static<typeof recoverySettings>;
