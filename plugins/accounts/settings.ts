import { Type } from 'parley-forum';
import { MIN_COST } from './passwords/hash-cost.ts';

export const accountSettings = Type.Object({
  'security.password_min_length': Type.Integer({
    default: 10,
    minimum: 8,
    maximum: 64,
    'x-danger': true,
    title: 'Shortest password',
    description: 'Minimum number of characters.',
    'x-group': 'security',
  }),
  'security.bcrypt_cost': Type.Integer({
    default: 12,
    minimum: MIN_COST,
    maximum: 16,
    'x-danger': true,
    title: 'Cost of password hashes',
    description: 'Each step doubles the time. When raised, passwords are rehashed at the next login.',
    'x-group': 'security',
  }),
  'security.bind_ip': Type.Boolean({
    default: true,
    'x-danger': true,
    title: 'Bind sessions to an address',
    description:
      'Ends a session when the client’s IP address changes. Turn this off behind a CDN, or for members on mobile networks.',
    'x-group': 'security',
  }),
  'security.bind_fingerprint': Type.Boolean({
    default: true,
    'x-danger': true,
    title: 'Bind sessions to a browser',
    description:
      'Ends a session when the User-Agent or Accept-Language of the browser changes. Turn this off if a proxy rewrites these headers.',
    'x-group': 'security',
  }),
  'login.rate_limit': Type.Integer({
    default: 5,
    minimum: 1,
    'x-danger': true,
    title: 'Failed logins per address',
    description: 'In 15 minutes.',
    'x-group': 'limits',
  }),
  'login.account_rate_limit': Type.Integer({
    default: 10,
    minimum: 1,
    'x-danger': true,
    title: 'Failed logins per account',
    description: 'In 15 minutes, from all addresses.',
    'x-group': 'limits',
  }),
  'login.attempt_rate_limit': Type.Integer({
    default: 30,
    minimum: 1,
    'x-danger': true,
    title: 'Logins per account',
    description: 'In 15 minutes, successful or not, including password confirmations.',
    'x-group': 'limits',
  }),
  'registration.rate_limit': Type.Integer({
    default: 3,
    minimum: 1,
    'x-danger': true,
    title: 'Registrations per address',
    description: 'In an hour.',
    'x-group': 'limits',
  }),
  'email.mx_validation': Type.Boolean({
    default: true,
    'x-danger': true,
    title: 'Check mail domains',
    description: 'Rejects sign-ups with an address whose domain does not accept e-mail.',
    'x-group': 'email',
  }),
});
