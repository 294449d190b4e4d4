import { Type, type Static } from 'parley-forum';

export const singleSignOnSettings = Type.Object({
  'single-sign-on.rate_limit': Type.Integer({
    default: 60,
    minimum: 1,
    'x-danger': true,
    title: 'Logins at providers per address',
    'x-group': 'limits',
    description: 'In 15 minutes, finished or not.',
  }),
});
export type SingleSignOnSettings = Static<typeof singleSignOnSettings>;
