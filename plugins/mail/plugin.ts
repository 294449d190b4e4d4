import { join } from 'node:path';
import { Clock, Data, definePlugin, Environment, sealedStores, Secrets, Settings, Type } from 'parley-forum';
import { Mail } from 'parley-forum/ports/mail';
import { MessageStore } from './message-store.ts';
import { Mailer } from './mailer.ts';
import { cleanFolder, folderTransport, smtpTransport, type Transport } from './transport.ts';

/**
 * Seconds before each further attempt: greylisting servers accept a mail within minutes, one that is down is back
 * within a day.
 */
const RETRY = [5, 60, 300, 1_800, 7_200, 21_600, 43_200];
/** Milliseconds between two checks for pending emails. */
const POLL_INTERVAL = 50;
/** Days for which files are kept. */
const FILE_RETENTION_DAYS = 30;

export default definePlugin({
  id: 'mail',
  name: 'Mail',
  version: '1.0.0',
  description: 'Sends e-mail through a mail server, or writes it to files if there is none.',
  defends: true,
  needs: { data: Data, clock: Clock, environment: Environment, secrets: Secrets, settings: Settings },
  provides: { mail: Mail },
  movedSettings: { 'mail.smtp_url': 'SMTP_URL', 'mail.from': 'MAIL_FROM' },
  setup({ data, clock, environment, secrets, settings }, plugin) {
    const folder = join(environment.dataDir, 'mail');
    const transport: Transport =
      environment.smtpUrl === undefined ? folderTransport(folder) : smtpTransport(environment.smtpUrl);
    plugin.defer(() => transport.close());

    const messages = new MessageStore({ data, secrets, clock });
    const mailer = new Mailer({ messages, environment, clock, settings, log: plugin.log, transport });
    plugin.extend(sealedStores, messages);
    const delivery = plugin.job<{ readonly id: string }>('deliver', {
      schema: Type.Object({ id: Type.String() }),
      retry: RETRY,
      run: ({ id }) => mailer.deliver(id),
    });
    plugin.job('clean', {
      schema: Type.Object({}),
      cron: '43 4 * * *',
      run: async () => {
        await messages.cleanUp();
        await cleanFolder(folder, FILE_RETENTION_DAYS);
      },
    });
    return {
      mail: {
        send: (...given) =>
          data.transaction(async () => {
            if (given.length === 0) return;
            for (const id of await messages.add(given)) await delivery.add({ id });
          }),
        async drained(milliseconds) {
          for (const deadline = Date.now() + milliseconds; Date.now() < deadline && (await messages.anyPending());)
            await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL));
        },
      },
    };
  },
});
