import type { Access, Audience } from 'parley-forum/plugins/access';
import { phrase, type Web } from 'parley-forum/plugins/web';

/** The name of an audience in the language of the current request: "staff", or the names of its groups. */
export const audienceName = (audience: Audience, access: Access, web: Web): string =>
  typeof audience === 'string'
    ? web.say(phrase(`discussions:audience.${audience}`))
    : audience.map((id) => access.group(id)?.name ?? id).join(' + ');
