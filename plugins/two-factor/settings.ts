import { Type } from 'parley-forum';

export const twoFactorSettings = Type.Object({
  'two_factor.required_for_staff': Type.Boolean({
    default: false,
    title: 'Require two-factor login for moderators and administrators',
    'x-group': 'security',
    'x-danger': true,
    description:
      'Until they set it up, they only have the rights of members. Only an administrator who uses it can turn this on.',
  }),
  'two_factor.rate_limit': Type.Integer({
    default: 5,
    minimum: 1,
    'x-danger': true,
    title: 'Wrong codes in a row',
    'x-group': 'limits',
    description:
      'After this many, further codes for the account are delayed: one minute, doubling each time, up to half a day. Backup codes are never delayed.',
  }),
  'two_factor.address_rate_limit': Type.Integer({
    default: 30,
    minimum: 1,
    'x-danger': true,
    title: 'Codes per address',
    'x-group': 'limits',
    description: 'In 15 minutes, correct or not, for all accounts together.',
  }),
});
