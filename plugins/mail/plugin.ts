import { join } from 'node:path';
import { Clock, Data, definePlugin, Environment, sealedStores, Secrets, Settings, Type } from '#core';
import { Mail } from '#plugins/mail';
import { Messages } from './messages.ts';
import { Post } from './post.ts';
import { cleanFolder, folderTransport, smtpTransport, type Transport } from './transport.ts';

/** Seconds before each further attempt: a server that asks to come back later does so within minutes, one that is down within a day. */
const RETRY = [5, 60, 300, 1_800, 7_200, 21_600, 43_200];
/** Days that files are kept. */
const FILES = 30;

export default definePlugin({
  id: 'mail',
  name: 'Mail',
  version: '1.0.0',
  description: 'Sends mail over a server, or into files where there is none.',
  needs: { data: Data, clock: Clock, environment: Environment, secrets: Secrets, settings: Settings },
  provides: { mail: Mail },
  settings: Type.Object({
    'mail.smtp_url': Type.String({
      pattern: '^smtps?://.+', maxLength: 500, title: 'Mail server', 'x-secret': true, 'x-group': 'email',
      description: 'Such as smtps://name:password@mail.example.org. Without it mails are written as files into the folder “mail” of the data directory.',
    }),
    'mail.from': Type.String({
      default: '', pattern: '^([^\\s@<>,;]+@[^\\s@<>,;]+)?$', maxLength: 254, title: 'Sender', 'x-group': 'email',
      description: 'The address mails come from; when empty, noreply@ and the site’s host.',
    }),
  }),
  setup({ data, clock, environment, secrets, settings }, plugin) {
    const folder = join(environment.dataDir, 'mail');
    const open = (): Transport => (plugin.settings['mail.smtp_url'] ? smtpTransport(plugin.settings['mail.smtp_url']) : folderTransport(folder));
    let transport = open();
    plugin.onSettings((keys) => {
      if (!keys.includes('mail.smtp_url')) return;
      transport.close();
      transport = open();
    });
    plugin.defer(() => transport.close());

    const messages = new Messages({ data, secrets, clock });
    const post = new Post({ messages, environment, clock, settings, log: plugin.log, transport: () => transport });
    plugin.extend(sealedStores, messages);
    const delivery = plugin.job<{ readonly id: string }>('deliver', {
      schema: Type.Object({ id: Type.String() }), retry: RETRY, run: ({ id }) => post.deliver(id),
    });
    plugin.job('clean', {
      schema: Type.Object({}), cron: '43 4 * * *',
      run: async () => {
        await messages.clean();
        await cleanFolder(folder, FILES);
      },
    });
    return {
      mail: {
        send: (...given) => data.transaction(async () => {
          if (given.length === 0) return;
          for (const id of await messages.keep(given)) await delivery.add({ id });
        }),
      },
    };
  },
});
