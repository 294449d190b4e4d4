import { Clock, definePlugin, Secrets } from '#core';
import { Access } from '#plugins/access';
import { Accounts } from '#plugins/accounts';
import { Categories, Discussions, Importer } from '#plugins/discussions';
import { DemoContent } from '#plugins/installer';
import { Markdown } from '#plugins/markdown';
import { commands } from './commands.ts';
import { Filler } from './fill.ts';
import { createLogins } from './logins.ts';

export default definePlugin({
  id: 'demo',
  name: 'Demonstration',
  version: '1.0.0',
  description: 'A lifelike community to look around in, and load made by machine.',
  needs: { access: Access, accounts: Accounts, categories: Categories, discussions: Discussions, importer: Importer, markdown: Markdown, clock: Clock, secrets: Secrets },
  provides: { demo: DemoContent },
  commands,
  setup: ({ secrets, ...services }) => ({ demo: new Filler({ ...services, logins: createLogins(secrets) }) }),
});
