import { Type } from 'parley-forum';

export const twoFactorSettings = Type.Object({
  'two_factor.required_for_staff': Type.Boolean({
    default: false,
    title: 'Moderators and administrators need two-factor login',
    'x-group': 'security',
    'x-danger': true,
    description:
      'Without it they have the rights of members until they set it up. Only an administrator who has it can switch this on.',
  }),
  'two_factor.rate_limit': Type.Integer({
    default: 5,
    minimum: 1,
    'x-danger': true,
    title: 'Wrong codes in a row',
    'x-group': 'limits',
    description:
      'After so many each further code of the account has to wait: a minute, then twice as long each time, half a day at most. Backup codes never wait.',
  }),
  'two_factor.address_rate_limit': Type.Integer({
    default: 30,
    minimum: 1,
    'x-danger': true,
    title: 'Codes per address',
    'x-group': 'limits',
    description: 'In 15 minutes, right and wrong ones, for all accounts together.',
  }),
});
