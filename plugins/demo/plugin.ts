import { Clock, commandLine, definePlugin, Secrets } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Answers, Conversations } from 'parley-forum/ports/imports';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { contentSeeded, Seeder } from 'parley-forum/plugins/demo';
import { Categories, Discussions, Importer } from 'parley-forum/plugins/discussions';
import { DemoContent } from 'parley-forum/plugins/installer';
import { commands } from './commands.ts';
import { ContentInstaller } from './content-installer.ts';
import { createLogins } from './logins.ts';
import { seed } from './seed.ts';

export default definePlugin({
  id: 'demo',
  name: 'Demonstration',
  version: '1.0.0',
  description: 'Lifelike demo content, and generated content for load tests.',
  needs: {
    access: Access,
    accounts: Accounts,
    categories: Categories,
    discussions: Discussions,
    importer: Importer,
    clock: Clock,
    secrets: Secrets,
  },
  wants: { answers: Answers, conversations: Conversations },
  provides: { demo: DemoContent, seeder: Seeder },
  hooks: [contentSeeded],
  commands,
  setup({ secrets, answers, conversations, ...deps }, plugin) {
    plugin.extend(
      auditRules,
      audited(contentSeeded, ['forum.seeded'], ({ discussions, posts, users }) => ({
        action: 'forum.seeded',
        actor: commandLine,
        details: { discussions, posts, users },
      })),
    );
    return {
      demo: new ContentInstaller({ ...deps, answers, conversations, logins: createLogins(secrets) }),
      seeder: {
        // Raised beforehand, since seeding uses many transactions.
        async seed(amounts, console) {
          await plugin.emit(contentSeeded, amounts);
          await seed(deps, amounts, console);
        },
      },
    };
  },
});
