import { Cache, Clock, Data, definePlugin } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Markdown } from 'parley-forum/plugins/markdown';
import { clearProfiles, profileCleared, profileUpdated } from 'parley-forum/plugins/profiles';
import { Web } from 'parley-forum/plugins/web';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { eventRules } from 'parley-forum/ports/events';
import { personalData } from 'parley-forum/ports/personal-data';
import { fileTexts } from 'parley-forum/ports/pictures';
import { profilePages } from './pages.ts';
import { profilePersonalData } from './personal-data.ts';
import { ProfileService } from './profile-service.ts';
import { profileRoutes } from './routes.ts';

export default definePlugin({
  id: 'profiles',
  name: 'Profiles',
  version: '1.0.0',
  description: 'Member profiles: a text, a place and links.',
  needs: { data: Data, cache: Cache, clock: Clock, access: Access, accounts: Accounts, markdown: Markdown },
  wants: { web: Web },
  hooks: [profileUpdated, profileCleared],
  permissions: [clearProfiles],
  setup({ data, cache, clock, access, accounts, markdown, web }, plugin) {
    const profiles = new ProfileService({ data, cache, clock, accounts, markdown, emit: plugin.emit });
    plugin.extend(personalData, profilePersonalData(profiles));
    plugin.extend(fileTexts, { table: 'profile', column: 'html' });
    // Profiles are public.
    plugin.extend(eventRules, { hook: profileUpdated, tags: [], visible: (payloads) => payloads.map(() => true) });
    plugin.extend(
      auditRules,
      audited(profileCleared, ['profile.cleared'], ({ id, by }) => ({
        action: 'profile.cleared',
        actor: by,
        subject: { type: 'account', id },
      })),
    );
    const deps = { plugin, access, accounts, profiles };
    profileRoutes(deps);
    if (web) profilePages({ ...deps, web });
  },
});
