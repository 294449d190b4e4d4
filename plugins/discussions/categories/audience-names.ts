import type { Access, Audience } from 'parley-forum/plugins/access';
import { phrase, type Web } from 'parley-forum/plugins/web';

/** What an audience is called in the language of whoever is being answered: "staff", or the names of groups. */
export const audienceName = (audience: Audience, access: Access, web: Web): string =>
  typeof audience === 'string'
    ? web.say(phrase(`discussions:audience.${audience}`))
    : audience.map((id) => access.group(id)?.name ?? id).join(' + ');
