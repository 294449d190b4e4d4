import { sql, ZERO_ID, type Data, type Extension, type PluginHandle } from 'parley-forum';
import { personalData, repeatInBatches, type Mode, type PersonalData } from 'parley-forum/ports/personal-data';

interface PluginDataDeps {
  readonly data: Data;
  readonly plugin: PluginHandle;
}
interface ErasedAccount {
  readonly accountId: string;
  readonly mode: Mode;
  /** The ids of the plugins that have erased what they stored about it. */
  readonly plugins: readonly string[];
}

/**
 * Lets plugins erase what they store about an account. Plugins that are off at that time do so when they are on again.
 */
export class PluginData {
  readonly #data: Data;
  readonly #plugin: PluginHandle;

  constructor({ data, plugin }: PluginDataDeps) {
    this.#data = data;
    this.#plugin = plugin;
  }

  /**
   * Resolves to the ids of the plugins that erased their data, or to undefined if any failed. A failing plugin does not
   * stop the others.
   */
  async erase(accountId: string, mode: Mode, signal: AbortSignal): Promise<readonly string[] | undefined> {
    const { erased, failed } = await this.#eraseFrom(this.#sources, { accountId, mode }, signal);
    return failed || signal.aborted ? undefined : erased;
  }

  /**
   * Records that all running plugins have erased their data; others follow once they run. Must be called in a
   * transaction.
   */
  async remember({ accountId, mode, plugins }: ErasedAccount): Promise<void> {
    await this.#data.all(sql`insert into privacy_erasure (account_id, mode, plugins)
      values (${accountId}, ${mode}, ${[...plugins]}::text[])
      on conflict (account_id) do update set mode = excluded.mode, plugins = excluded.plugins`);
  }

  /**
   * Erases what running plugins still store about erased accounts because they were off. Failed ones are retried the
   * next time.
   */
  async eraseMissed(signal: AbortSignal): Promise<void> {
    const running = [...new Set(this.#sources.map(({ plugin }) => plugin))];
    let after = ZERO_ID;
    await repeatInBatches(signal, async (limit) => {
      const accounts = await this.#data.all(sql<ErasedAccount>`
        select account_id as "accountId", mode, plugins from privacy_erasure
        where account_id > ${after} and not plugins @> ${running}::text[] order by account_id limit ${limit}`);
      for (const account of accounts) if (!signal.aborted) await this.#eraseRest(account, signal);
      after = accounts.at(-1)?.accountId ?? after;
      return accounts.length;
    });
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

  /** The ids of the plugins whose data was erased completely, and whether any others failed. */
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
          'personal data could not be erased; it will be retried',
        );
      });
    }
    const erased = new Set(sources.map(({ plugin }) => plugin).filter((owner) => !failed.has(owner)));
    return { erased: [...erased], failed: failed.size > 0 };
  }
}
