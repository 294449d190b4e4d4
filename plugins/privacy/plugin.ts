import { Cache, Clock, Data, definePlugin, Environment, Type, type Job } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts, lastSeenRules, loggedIn } from 'parley-forum/plugins/accounts';
import { Limits } from 'parley-forum/plugins/limits';
import { Mail } from 'parley-forum/ports/mail';
import { hiddenMembers } from 'parley-forum/ports/page-visibility';
import { accountErased, deletionCancelled, deletionRequested, exportRequested } from 'parley-forum/plugins/privacy';
import { Deletions, personalData } from 'parley-forum/ports/personal-data';
import { Protection } from 'parley-forum/plugins/protection';
import { Web } from 'parley-forum/plugins/web';
import { Administrators } from './administrators.ts';
import { addAuditRules } from './audit-rules.ts';
import { VisibilityChoiceStore } from './visibility-choices.ts';
import { commands } from './commands.ts';
import { AccountDeletions } from './deletions.ts';
import { addExportPages } from './export-pages.ts';
import { DeletionEmails } from './emails.ts';
import { addPages, pageOf } from './pages.ts';
import { privacySettings } from './settings.ts';

export default definePlugin({
  id: 'privacy',
  name: 'Privacy',
  version: '2.0.0',
  description: 'Members export their data, choose what others see of them, and delete their accounts.',
  needs: {
    data: Data,
    cache: Cache,
    clock: Clock,
    environment: Environment,
    access: Access,
    accounts: Accounts,
    limits: Limits,
    protection: Protection,
    web: Web,
  },
  wants: { mail: Mail },
  provides: { deletions: Deletions },
  hooks: [exportRequested, deletionRequested, deletionCancelled, accountErased],
  extensionPoints: [personalData],
  settings: privacySettings,
  commands,
  setup({ data, cache, clock, environment, access, accounts, limits, protection, web, mail }, plugin) {
    const choices = new VisibilityChoiceStore(data);
    plugin.extend(hiddenMembers, { hidden: (ids) => choices.hiddenAmong('presence', ids) });
    plugin.extend(lastSeenRules, {
      hidden: (ids) => choices.hiddenAmong('lastSeen', ids),
      hides: (account) => choices.hidesLastSeen(account),
    });

    const administrators = new Administrators({ data, access, accounts });
    const emails = new DeletionEmails({ accounts, environment, web, mail });
    const deletions = new AccountDeletions({
      data,
      clock,
      accounts,
      administrators,
      choices,
      emails,
      plugin,
      job: () => job,
    });
    // One at a time across all processes: a deletion in progress must not be started a second time in parallel.
    const job: Job<Readonly<Record<string, never>>> = plugin.job('erase', {
      schema: Type.Object({}),
      cron: '*/10 * * * *',
      key: () => 'erase',
      perKey: 1,
      run: (_none, { signal }) => deletions.runDue(signal),
    });
    plugin.on(loggedIn, ({ id }) => deletions.cancel(id, id), { awaited: true });

    addAuditRules(plugin);
    addPages(plugin, { cache, accounts, choices, deletions });
    const page = pageOf(choices);
    addExportPages(plugin, { clock, limits, protection, rerender: (retry) => page(retry.actor.id, retry) });
    return { deletions };
  },
});
