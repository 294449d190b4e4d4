import { Type } from 'parley-forum';
import { SECRET_PATTERN } from './signatures.ts';

const HOUR = 3_600;

export const settings = Type.Object({
  'site.service_name': Type.String({
    default: 'Forum',
    pattern: '^[A-Za-z0-9\\-]+$',
    'x-pattern-problem': 'must be letters from A to Z, digits and hyphens',
    maxLength: 40,
    title: 'Name in webhook headers',
    description: 'The middle word of X-Forum-Event, X-Forum-Delivery and X-Forum-Signature, as they are sent.',
  }),
  'webhooks.inbound_secret': Type.String({
    pattern: SECRET_PATTERN,
    'x-pattern-problem': 'must be whsec_ and 24 to 64 bytes in base64',
    'x-danger': true,
    title: 'Secret for incoming webhooks',
    'x-secret': true,
    description:
      'Services use it to sign requests to /api/webhooks: whsec_ followed by 24 to 64 bytes in base64. Without it, incoming webhooks are rejected.',
  }),
  'webhooks.retry_delays': Type.Array(Type.Integer({ minimum: 0, maximum: 24 * 7 * HOUR }), {
    default: [5, 300, 1_800, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR],
    maxItems: 30,
    title: 'Seconds before each further attempt',
    description: 'After the last attempt a delivery has failed.',
  }),
  'webhooks.retry_jitter': Type.Number({
    default: 0.2,
    minimum: 0,
    maximum: 1,
    title: 'Spread of these times',
    description:
      'Fraction by which each delay may vary, so that deliveries that failed together are not retried together.',
  }),
  'webhooks.history_days': Type.Integer({
    default: 30,
    minimum: 1,
    maximum: 3_650,
    title: 'Days to keep the history',
  }),
});
