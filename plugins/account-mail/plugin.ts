import { Clock, definePlugin, Environment } from 'parley-forum';
import { accountChangeListeners, type AccountChange } from 'parley-forum/plugins/accounts';
import { Mail } from 'parley-forum/ports/mail';
import { Web } from 'parley-forum/plugins/web';

/** The page where a member can check the change. */
const PATHS: Readonly<Record<Exclude<AccountChange, 'first'>, string>> = {
  password: '/settings/security/sessions',
  reset: '/settings/security',
  email: '/settings/security',
  sessions: '/settings/security',
};

export default definePlugin({
  id: 'account-mail',
  name: 'Mail about accounts',
  version: '1.0.0',
  description: 'E-mails members when their password or address was changed, or they were logged out everywhere.',
  defends: true,
  needs: { clock: Clock, environment: Environment, mail: Mail, web: Web },
  setup({ clock, environment, mail, web }, plugin) {
    plugin.extend(accountChangeListeners, {
      async changed(what, { id, username }, to, tokensKept) {
        if (what === 'first') return;
        const texts = (await web.textsFor([id]))(id);
        const text = (key: string, values: Readonly<Record<string, unknown>> = {}): string =>
          texts.text(`account-mail:${key}`, values);
        const subject = text(`${what}.title`, { name: username });
        const time = texts.date(new Date(clock.now()));
        const tokens = what === 'email' ? [] : [text(tokensKept ? 'tokens-kept' : 'tokens-ended')];
        const paragraphs = [text(`${what}.text`, { time }), ...tokens, text(`${what}.help`)];
        const path = PATHS[what];
        const action = { label: text(`${what}.action`), href: environment.baseUrl + path };
        await mail.send({
          to,
          subject,
          content: { language: texts.id, title: subject, paragraphs, action, reason: text('reason') },
        });
      },
    });
  },
});
