import { sql, ZERO_ID, type Data, type Extension, type PluginHandle } from 'parley-forum';
import { personalData, type Mode, type PersonalData } from 'parley-forum/ports/personal-data';

interface PluginDataDeps {
  readonly data: Data;
  readonly plugin: PluginHandle;
}
interface ErasedAccount {
  readonly accountId: string;
  readonly mode: Mode;
  /** Ids of those that have erased what they stored about it. */
  readonly plugins: readonly string[];
}

/** Accounts that are read at a time. */
const BATCH = 200;

/** Lets plugins erase what they store about an account. Those that are off at that time do it when they are on again. */
export class PluginData {
  readonly #data: Data;
  readonly #plugin: PluginHandle;

  constructor({ data, plugin }: PluginDataDeps) {
    this.#data = data;
    this.#plugin = plugin;
  }

  /** Resolves to the ids of the plugins that have done so, when none failed. The failure of one does not stop the others. */
  async erase(accountId: string, mode: Mode, signal: AbortSignal): Promise<readonly string[] | undefined> {
    const { erased, failed } = await this.#eraseFrom(this.#sources, { accountId, mode }, signal);
    return failed || signal.aborted ? undefined : erased;
  }

  /** All that run have erased it; others are asked once they run. Inside a transaction. */
  async remember({ accountId, mode, plugins }: ErasedAccount): Promise<void> {
    await this.#data.all(sql`insert into privacy_erasure (account_id, mode, plugins)
      values (${accountId}, ${mode}, ${[...plugins]}::text[])
      on conflict (account_id) do update set mode = excluded.mode, plugins = excluded.plugins`);
  }

  /** What plugins that run still store about erased accounts, since they were off. What fails stays, for the next time. */
  async eraseMissed(signal: AbortSignal): Promise<void> {
    const running = [...new Set(this.#sources.map(({ plugin }) => plugin))];
    for (let after = ZERO_ID, more = true; more && !signal.aborted;) {
      const accounts = await this.#data.all(sql<ErasedAccount>`
        select account_id as "accountId", mode, plugins from privacy_erasure
        where account_id > ${after} and not plugins @> ${running}::text[] order by account_id limit ${BATCH}`);
      for (const account of accounts) if (!signal.aborted) await this.#eraseRest(account, signal);
      more = accounts.length === BATCH;
      after = accounts.at(-1)?.accountId ?? after;
    }
  }

  get #sources(): readonly Extension<PersonalData>[] {
    return this.#plugin.extensions(personalData);
  }

  async #eraseRest(account: ErasedAccount, signal: AbortSignal): Promise<void> {
    const missed = this.#sources.filter(({ plugin }) => !account.plugins.includes(plugin));
    const { erased } = await this.#eraseFrom(missed, account, signal);
    if (signal.aborted || erased.length === 0) return;
    await this.#data.all(sql`update privacy_erasure set plugins = plugins || ${[...erased]}::text[]
      where account_id = ${account.accountId}`);
  }

  /** Ids of the plugins all of whose data was erased, and whether there are others. */
  async #eraseFrom(
    sources: readonly Extension<PersonalData>[],
    { accountId, mode }: Pick<ErasedAccount, 'accountId' | 'mode'>,
    signal: AbortSignal,
  ): Promise<{ readonly erased: readonly string[]; readonly failed: boolean }> {
    const { log } = this.#plugin;
    const failed = new Set<string>();
    for (const { plugin: owner, value } of sources) {
      if (signal.aborted) break;
      await value.erase?.(accountId, mode, signal).catch((error: unknown) => {
        failed.add(owner);
        log.error(
          { error, owner, data: value.name, account: accountId },
          'personal data could not be erased; it is tried again',
        );
      });
    }
    const erased = new Set(sources.map(({ plugin }) => plugin).filter((owner) => !failed.has(owner)));
    return { erased: [...erased], failed: failed.size > 0 };
  }
}
