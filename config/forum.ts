import type { AppConfiguration } from '../core/cli/loader.ts';

/** What this forum is made of. The database wins over `settings` once a value has been stored there. */
const forum: AppConfiguration = {
  plugins: ['access', 'limits', 'protection', 'accounts', 'markdown', 'api', 'web', 'discussions', 'presence', 'admin', 'installer', 'demo', 'subscriptions', 'mail', 'events'],
  required: ['admin'],
  settings: { 'site.name': 'Parley' },
};

export default forum;
