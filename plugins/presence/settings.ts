import { Type, type Static } from 'parley-forum';

export const presenceSettings = Type.Object({
  'presence.public': Type.Boolean({
    default: true,
    title: 'Everyone can see who is online',
    description: 'Otherwise guests only see numbers.',
    'x-group': 'presence',
  }),
  'presence.rate_limit': Type.Integer({
    default: 60,
    minimum: 1,
    title: 'Presence signals per minute',
    description: 'Presence and typing together, per member or per address; moderators five times as many.',
    'x-group': 'limits',
  }),
});
export type PresenceSettings = Static<typeof presenceSettings>;
