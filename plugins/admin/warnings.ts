import { commandLine, type Clock, type Environment, type Http, type PluginHandle, type Request } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { groupChanged, type Accounts } from 'parley-forum/plugins/accounts';
import { letter, type Mail } from 'parley-forum/plugins/mail';
import type { Web } from 'parley-forum/plugins/web';

/** Members that are read at a time. */
const PAGE = 100;
/** Milliseconds for which the plugin that sends mails stays on, so that the mail about its end is sent. */
const LAST_MAILS = 10_000;

export interface WarningParts {
  readonly access: Access;
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly environment: Environment;
  readonly http: Http;
  readonly web: Web;
  /** Undefined where nothing can be mailed. */
  readonly mail: Mail | undefined;
}

/** Who did something, and from where. */
export interface Doer {
  readonly name: string;
  readonly address: string | undefined;
}

/**
 * Tells all administrators by mail of what weakens the defence of accounts, so that one of them whose session was
 * stolen does it unseen by none.
 */
export class Warnings {
  readonly #parts: WarningParts;

  constructor(parts: WarningParts) {
    this.#parts = parts;
  }

  doer({ username = '' }: Viewer, req: Request): Doer {
    return { name: username, address: this.#parts.http.addressOf(req) };
  }

  /**
   * Stored with the transaction under way; `what` is a text of this plugin about what was done. Values of settings are
   * never in it.
   */
  async tell(
    what: 'settings' | 'plugin' | 'group',
    values: Readonly<Record<string, string>>,
    { name, address }: Doer,
  ): Promise<void> {
    const { clock, environment, web, mail } = this.#parts;
    if (!mail) return;
    const text = (key: string, more: Readonly<Record<string, unknown>> = {}): string =>
      web.text(`admin:warning.${key}`, more);
    const time = new Date(clock.now()).toISOString().slice(0, 16).replace('T', ' ');
    const subject = text(`${what}.title`, values);
    const paragraphs = [
      text(`${what}.text`, values),
      text(address === undefined ? 'who' : 'who-from', { name, time, address }),
      text('help'),
    ];
    const made = letter({
      title: subject,
      paragraphs,
      action: { label: text('action'), href: `${environment.baseUrl}/admin/audit` },
      reason: text('reason'),
    });
    await mail.send(...(await this.#addresses()).map((to) => ({ to, subject, ...made })));
  }

  /** Before the plugin that sends mails is switched off. */
  async drained(): Promise<void> {
    await this.#parts.mail?.drained(LAST_MAILS);
  }

  async #addresses(): Promise<readonly string[]> {
    const { access, accounts } = this.#parts;
    const found: string[] = [];
    for (const { id: groupId } of access.groups().filter(({ level }) => level === 'admin')) {
      for (let offset = 0, total = 1; offset < total; offset += PAGE) {
        const page = await accounts.search({ text: '', groupId, limit: PAGE, offset });
        found.push(...page.accounts.filter(({ status }) => status === 'active').map(({ email }) => email));
        total = page.total;
      }
    }
    return found;
  }
}

/** Of whoever becomes a moderator or an administrator, in the panel or at the shell. */
export function warnOfPromotions(
  plugin: PluginHandle,
  warnings: Warnings,
  { access, accounts }: Pick<WarningParts, 'access' | 'accounts'>,
): void {
  plugin.on(
    groupChanged,
    async ({ id, by, from, to, address }) => {
      const [before, after] = [access.group(from), access.group(to)];
      if (!after || !STAFF.has(after.level) || before?.level === 'admin' || before?.level === after.level) return;
      const name = by === undefined || by === commandLine ? 'parley' : ((await accounts.find(by))?.username ?? by);
      await warnings.tell(
        'group',
        { member: (await accounts.find(id))?.username ?? id, group: after.name },
        { name, address },
      );
    },
    { durable: true },
  );
}

const STAFF = new Set(['moderator', 'admin']);
