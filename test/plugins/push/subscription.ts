import { createECDH } from 'node:crypto';

/** What a browser sends whose push service is somewhere else. */
export const SUBSCRIPTION = {
  endpoint: 'https://push.example.org/send/1',
  keys: { p256dh: createECDH('prime256v1').generateKeys('base64url'), auth: 'A'.repeat(22) },
};
