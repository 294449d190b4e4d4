import { commandLine, type Clock, type Environment, type Http, type PluginHandle, type Request } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { groupChanged, type Account, type Accounts } from 'parley-forum/plugins/accounts';
import type { Mail } from 'parley-forum/ports/mail';
import type { Texts, Web, Wording } from 'parley-forum/plugins/web';
import { groupName } from './shared.ts';

/** The number of members read at a time. */
const PAGE = 100;
/** Milliseconds to wait for pending mail before the plugin that sends it stops, so that the mail about that is sent. */
const LAST_MAILS = 10_000;

export interface SecurityWarningsDeps {
  readonly access: Access;
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly environment: Environment;
  readonly http: Http;
  readonly web: Web;
  /** Undefined if no mail can be sent. */
  readonly mail: Mail | undefined;
}

/** The name and IP address of the member who made a change. */
export interface Actor {
  readonly name: string;
  readonly address: string | undefined;
}

/**
 * Mails all administrators about changes that weaken the security of accounts, so that somebody with a stolen
 * administrator session cannot make them unnoticed.
 */
export class SecurityWarnings {
  readonly #parts: SecurityWarningsDeps;

  constructor(parts: SecurityWarningsDeps) {
    this.#parts = parts;
  }

  actorOf({ username = '' }: Viewer, req: Request): Actor {
    return { name: username, address: this.#parts.http.ip(req) };
  }

  /**
   * The mails are stored with the current transaction. `what` selects the text that describes the change. Mails never
   * include the values of settings.
   */
  async send(
    what: 'settings' | 'plugin' | 'group',
    values: (texts: Texts) => Readonly<Record<string, Wording>>,
    { name, address }: Actor,
  ): Promise<void> {
    const { clock, environment, web, mail } = this.#parts;
    if (!mail) return;
    const readers = await this.#readers();
    const textsOf = await web.textsFor(readers.map(({ id }) => id));
    const messages = readers.map(({ id, email: to }) => {
      const texts = textsOf(id);
      const text = (key: string, more: Readonly<Record<string, unknown>> = {}): string =>
        texts.text(`admin:warning.${key}`, more);
      const said = values(texts);
      const time = texts.date(new Date(clock.now()));
      const subject = text(`${what}.title`, said);
      const content = {
        language: texts.id,
        title: subject,
        paragraphs: [
          text(`${what}.text`, said),
          text(address === undefined ? 'who' : 'who-from', { name, time, address }),
          text('help'),
        ],
        action: { label: text('action'), href: `${environment.baseUrl}/admin/audit` },
        reason: text('reason'),
      };
      return { to, subject, content };
    });
    await mail.send(...messages);
  }

  /** Waits for pending mail before the plugin that sends it is switched off. */
  async drained(): Promise<void> {
    await this.#parts.mail?.drained(LAST_MAILS);
  }

  /** All active administrators. */
  async #readers(): Promise<readonly Account[]> {
    const { access, accounts } = this.#parts;
    const found: Account[] = [];
    for (const { id: groupId } of access.groups().filter(({ level }) => level === 'admin')) {
      for (let offset = 0, total = 1; offset < total; offset += PAGE) {
        const page = await accounts.search({ text: '', groupId, limit: PAGE, offset });
        found.push(...page.accounts.filter(({ status }) => status === 'active'));
        total = page.total;
      }
    }
    return found;
  }
}

/** Warns when members become moderators or administrators, in the panel or from the command line. */
export function warnOfPromotions(
  plugin: PluginHandle,
  warnings: SecurityWarnings,
  { access, accounts }: Pick<SecurityWarningsDeps, 'access' | 'accounts'>,
): void {
  plugin.on(
    groupChanged,
    async ({ id, by, from, to, address }) => {
      const [before, after] = [access.group(from), access.group(to)];
      if (!after || !STAFF.has(after.level) || before?.level === 'admin' || before?.level === after.level) return;
      const name = by === undefined || by === commandLine ? 'parley' : ((await accounts.find(by))?.username ?? by);
      const member = (await accounts.find(id))?.username ?? id;
      await warnings.send('group', () => ({ member, group: groupName(after) }), { name, address });
    },
    { durable: true },
  );
}

const STAFF = new Set(['moderator', 'admin']);
