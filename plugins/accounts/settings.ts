import { Type } from 'parley-forum';
import { MIN_COST } from './passwords/hash-cost.ts';

export const accountSettings = Type.Object({
  'security.password_min_length': Type.Integer({
    default: 10,
    minimum: 8,
    maximum: 64,
    'x-danger': true,
    title: 'Shortest password',
    description: 'Characters a password must have at least.',
    'x-group': 'security',
  }),
  'security.bcrypt_cost': Type.Integer({
    default: 12,
    minimum: MIN_COST,
    maximum: 16,
    'x-danger': true,
    title: 'Cost of password hashes',
    description: 'Each step doubles the time. Passwords are hashed anew at the next login when it rises.',
    'x-group': 'security',
  }),
  'security.bind_ip': Type.Boolean({
    default: true,
    'x-danger': true,
    title: 'Bind sessions to an address',
    description:
      'Ends a session when the client’s IP address changes. Switch it off behind a CDN or for members on the move.',
    'x-group': 'security',
  }),
  'security.bind_fingerprint': Type.Boolean({
    default: true,
    'x-danger': true,
    title: 'Bind sessions to a browser',
    description:
      'Ends a session when what the browser says of itself or its languages changes. Switch it off where something between them and the forum rewrites that.',
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
    description: 'In 15 minutes, right ones and wrong ones, with each time that the password is asked for again.',
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
    description: 'Refuses addresses at registration whose domain takes no mail.',
    'x-group': 'email',
  }),
});
