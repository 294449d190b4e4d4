import type { AppConfiguration } from '../core/cli/loader.ts';

/** What this forum is made of. The database wins over `settings` once a value has been stored there. */
const forum: AppConfiguration = {
  plugins: ['cache', 'secrets', 'access', 'limits', 'protection', 'accounts', 'markdown', 'api', 'web', 'discussions', 'presence', 'typing', 'reports', 'admin', 'installer', 'demo', 'search', 'tags', 'reactions', 'subscriptions', 'mail', 'events', 'live', 'notifications', 'webhooks', 'feeds', 'sitemap', 'pro-feeds', 'uploads', 'account-mail', 'recovery', 'two-factor', 'moderation', 'audit', 'policy-reports', 'privacy'],
  required: ['admin', 'audit'],
  settings: { 'site.name': 'Parley' },
};

export default forum;
