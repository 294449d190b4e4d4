import { HttpError, notFound, sql, type Clock, type Data, type Job, type PluginHandle } from 'parley-forum';
import type { Account, Accounts } from 'parley-forum/plugins/accounts';
import { accountErased, deletionCancelled, deletionRequested } from 'parley-forum/plugins/privacy';
import type { Deletions, Mode } from 'parley-forum/ports/personal-data';
import type { Administrators } from './administrators.ts';
import type { VisibilityChoiceStore } from './visibility-choices.ts';
import type { DeletionEmails } from './emails.ts';
import { PluginData } from './plugin-data.ts';

const DAY = 86_400_000;

export interface DeletionsDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly accounts: Accounts;
  readonly administrators: Administrators;
  readonly choices: VisibilityChoiceStore;
  readonly emails: DeletionEmails;
  readonly plugin: PluginHandle;
  /** Runs the due deletions right away. */
  readonly job: () => Job<Readonly<Record<string, never>>>;
}
/** A requested deletion. */
export interface PendingDeletion {
  readonly accountId: string;
  readonly mode: Mode;
  readonly dueAt: Date;
  readonly started: boolean;
  readonly erased: boolean;
}
export interface DeletionRequest {
  readonly mode: Mode;
  /** The number of days during which the member can come back. */
  readonly days: number;
  readonly by?: string | undefined;
}

const COLUMNS = sql<PendingDeletion>`account_id as "accountId", mode, due_at as "dueAt",
  started_at is not null as started, erased_at is not null as erased`;

/**
 * Deletes accounts: first, in one step, the name and every way to log in; then, plugin by plugin and in batches,
 * everything stored about the account; and a day later once more, for what was still in flight. Resumes where it was
 * interrupted. Plugins that were off do their part when they are on again.
 */
export class AccountDeletions implements Deletions {
  readonly #deps: DeletionsDeps;
  readonly #pluginData: PluginData;

  constructor(deps: DeletionsDeps) {
    this.#deps = deps;
    this.#pluginData = new PluginData(deps);
  }

  /** The account's pending deletion, if the member asked for one. */
  find(accountId: string): Promise<PendingDeletion | undefined> {
    return this.#deps.data.one(
      sql<PendingDeletion>`select ${COLUMNS} from privacy_deletion where account_id = ${accountId}`,
    );
  }

  /**
   * Ends all sessions and tokens of the account; the rest happens in the background. Throws 409 for the only
   * administrator.
   */
  request(accountId: string, request: DeletionRequest): Promise<Date> {
    const { data, job } = this.#deps;
    return data.transaction(async () => {
      const due = await this.#schedule(accountId, request);
      if (request.days === 0) await job().add({});
      return due;
    });
  }

  /** Harmless if no deletion was requested, or it has already started. */
  async cancel(accountId: string, by?: string): Promise<void> {
    const { data, accounts, emails, plugin } = this.#deps;
    await data.transaction(async () => {
      const gone = await data.one(
        sql`delete from privacy_deletion where account_id = ${accountId} and started_at is null returning 1`,
      );
      const account = gone === undefined ? undefined : await accounts.find(accountId);
      if (!account) return;
      await plugin.emit(deletionCancelled, { id: accountId, by });
      await emails.send('cancelled', account);
    });
  }

  async erase(accountId: string, mode: Mode, by?: string): Promise<void> {
    await this.#deps.data.transaction(() => this.#schedule(accountId, { mode, days: 0, by }));
    await this.#execute((await this.find(accountId))!, this.#deps.plugin.signal);
  }

  /**
   * Runs all due deletions one after the other, and what plugins missed while they were off. Failed ones are retried
   * the next time.
   */
  async runDue(signal: AbortSignal): Promise<void> {
    const { data, clock } = this.#deps;
    const rows = await data.all(
      sql<PendingDeletion>`select ${COLUMNS} from privacy_deletion
        where due_at <= ${new Date(clock.now())} order by due_at, account_id`,
    );
    for (const pending of rows) if (!signal.aborted) await this.#execute(pending, signal);
    await this.#pluginData.eraseMissed(signal);
  }

  async #schedule(accountId: string, { mode, days, by }: DeletionRequest): Promise<Date> {
    const { data, clock, accounts, administrators, emails, plugin } = this.#deps;
    const now = clock.now();
    const due = new Date(now + days * DAY);
    await this.#lock();
    const account = await accounts.find(accountId);
    if (!account) throw notFound('There is no such member');
    if (await administrators.isLast(account))
      throw new HttpError(409, 'This is the only administrator; make someone else an administrator first');
    await data.all(sql`insert into privacy_deletion (account_id, mode, requested_at, due_at)
      values (${accountId}, ${mode}, ${new Date(now)}, ${due})
      on conflict (account_id) do update set mode = excluded.mode, requested_at = excluded.requested_at,
        due_at = excluded.due_at where privacy_deletion.started_at is null`);
    await accounts.endSessions(accountId, by, 'privacy');
    await plugin.emit(deletionRequested, { id: accountId, mode, due: due.toISOString(), by });
    if (days > 0) await emails.send('requested', account, { mode, due });
    return due;
  }

  async #execute(pending: PendingDeletion, signal: AbortSignal): Promise<void> {
    if (!pending.started && !(await this.#begin(pending))) return;
    const { accountId, mode } = pending;
    await this.#deps.choices.delete(accountId);
    const plugins = await this.#pluginData.erase(accountId, mode, signal);
    if (plugins) await this.#finish(pending, plugins);
  }

  /**
   * The point of no return. Resolves to false if the deletion is not to be done (any more). A login cancels a deletion
   * when it happens; it is checked here once more, since that event may have been missed: the plugin was off, or the
   * process died.
   */
  #begin({ accountId, mode }: PendingDeletion): Promise<boolean> {
    const { data, clock, accounts, administrators, emails } = this.#deps;
    return data.transaction(async () => {
      await this.#lock();
      const account: Account | undefined = await accounts.find(accountId);
      const row = await data.one(sql<{
        requestedAt: Date;
      }>`update privacy_deletion set started_at = ${new Date(clock.now())}
        where account_id = ${accountId} and started_at is null returning requested_at as "requestedAt"`);
      if (!row || !account) return row !== undefined;
      const cameBack = await accounts.loggedInSince(accountId, row.requestedAt);
      if (cameBack || (await administrators.isLast(account))) {
        await data.all(sql`update privacy_deletion set started_at = null where account_id = ${accountId}`);
        await this.cancel(accountId, cameBack ? accountId : undefined);
        return false;
      }
      await emails.send('erased', account, { mode });
      await accounts.anonymise(accountId);
      return true;
    });
  }

  /** `plugins` are those that have erased what they store. */
  async #finish({ accountId, mode, erased }: PendingDeletion, plugins: readonly string[]): Promise<void> {
    const { data, clock, plugin } = this.#deps;
    const now = clock.now();
    await data.transaction(async () => {
      if (erased) {
        await data.all(sql`delete from privacy_deletion where account_id = ${accountId}`);
        return this.#pluginData.remember({ accountId, mode, plugins });
      }
      await data.all(
        sql`update privacy_deletion set erased_at = ${new Date(now)}, due_at = ${new Date(now + DAY)}
          where account_id = ${accountId}`,
      );
      await plugin.emit(accountErased, { id: accountId, mode });
    });
  }

  /** Serializes starting and requesting deletions, so that one of the last two administrators is kept. */
  #lock(): Promise<void> {
    return this.#deps.data.lock('privacy:deletions');
  }
}
