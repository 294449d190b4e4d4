import { join } from 'node:path';
import { Clock, Data, definePlugin, Environment, sealedStores, Secrets, Settings, Type } from 'parley-forum';
import { Mail } from 'parley-forum/plugins/mail';
import { Messages } from './messages.ts';
import { Post } from './post.ts';
import { cleanFolder, folderTransport, smtpTransport, type Transport } from './transport.ts';

/**
 * Seconds before each further attempt: a server that asks to come back later does so within minutes, one that is down
 * within a day.
 */
const RETRY = [5, 60, 300, 1_800, 7_200, 21_600, 43_200];
/** Milliseconds between two looks at what waits. */
const LOOK = 50;
/** Days that files are kept. */
const FILES = 30;

export default definePlugin({
  id: 'mail',
  name: 'Mail',
  version: '1.0.0',
  description: 'Sends mail over a server, or into files where there is none.',
  defends: true,
  needs: { data: Data, clock: Clock, environment: Environment, secrets: Secrets, settings: Settings },
  provides: { mail: Mail },
  movedSettings: { 'mail.smtp_url': 'SMTP_URL', 'mail.from': 'MAIL_FROM' },
  setup({ data, clock, environment, secrets, settings }, plugin) {
    const folder = join(environment.dataDir, 'mail');
    const transport: Transport =
      environment.smtpUrl === undefined ? folderTransport(folder) : smtpTransport(environment.smtpUrl);
    plugin.defer(() => transport.close());

    const messages = new Messages({ data, secrets, clock });
    const post = new Post({ messages, environment, clock, settings, log: plugin.log, transport });
    plugin.extend(sealedStores, messages);
    const delivery = plugin.job<{ readonly id: string }>('deliver', {
      schema: Type.Object({ id: Type.String() }),
      retry: RETRY,
      run: ({ id }) => post.deliver(id),
    });
    plugin.job('clean', {
      schema: Type.Object({}),
      cron: '43 4 * * *',
      run: async () => {
        await messages.clean();
        await cleanFolder(folder, FILES);
      },
    });
    return {
      mail: {
        send: (...given) =>
          data.transaction(async () => {
            if (given.length === 0) return;
            for (const id of await messages.keep(given)) await delivery.add({ id });
          }),
        async drained(milliseconds) {
          for (const deadline = Date.now() + milliseconds; Date.now() < deadline && (await messages.anyWaiting());)
            await new Promise((resolve) => setTimeout(resolve, LOOK));
        },
      },
    };
  },
});
