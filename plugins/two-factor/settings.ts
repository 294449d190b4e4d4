import { Type } from '#core';

export const twoFactorSettings = Type.Object({
  'two_factor.rate_limit': Type.Integer({
    default: 5, minimum: 1, title: 'Wrong codes per account', 'x-group': 'limits',
    description: 'In 15 minutes, from all addresses. A right code begins the count anew.',
  }),
  'two_factor.address_rate_limit': Type.Integer({
    default: 30, minimum: 1, title: 'Codes per address', 'x-group': 'limits', description: 'In 15 minutes, right and wrong ones, for all accounts together.',
  }),
});
