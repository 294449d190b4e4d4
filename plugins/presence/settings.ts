import { Type, type Static } from 'parley-forum';

export const presenceSettings = Type.Object({
  'presence.public': Type.Boolean({
    default: true,
    title: 'Everybody sees who is here',
    description: 'Otherwise guests are told numbers only.',
    'x-group': 'presence',
  }),
  'presence.rate_limit': Type.Integer({
    default: 60,
    minimum: 1,
    title: 'Signs of presence a minute',
    description: 'Presence and typing together, per member or per address; moderators five times as many.',
    'x-group': 'limits',
  }),
});
export type PresenceSettings = Static<typeof presenceSettings>;
