import { sql, ZERO_ID, type Clock, type Data } from 'parley-forum';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { repeatInBatches } from 'parley-forum/ports/personal-data';
import type { FileTexts } from 'parley-forum/ports/pictures';
import type { FileStorage } from './file-storage.ts';
import { columnsWithFiles, idsIn } from './file-texts.ts';
import type { UploadStore } from './upload-store.ts';

/** Unused files checked at a time: many, because each batch searches all texts. */
const UNUSED_BATCH = 500;
const DAY = 24 * 3_600_000;

interface CleanupDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly store: UploadStore;
  readonly files: FileStorage;
  unusedDays(): number;
  texts(): readonly FileTexts[];
}

/**
 * Removes once a day unused files, files of deleted accounts, replaced avatars, and leftovers of crashes on the disk.
 */
export class UploadCleanup {
  readonly #deps: CleanupDeps;

  constructor(deps: CleanupDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#removeUnused(signal);
    await this.#removeOrphans(signal);
    await this.#removeReplacedAvatars();
    const { clock, files, store } = this.#deps;
    if (!signal.aborted) await files.removeLeftovers(clock.now(), (ids) => store.known(ids));
  }

  /** Each row is checked again when it is removed, because a post may use it by then. */
  async #removeUnused(signal: AbortSignal): Promise<void> {
    const { clock, data, store, texts, unusedDays } = this.#deps;
    const now = clock.now();
    // Needed because two concurrent transactions that drop the last two uses each still see the other's use.
    await data.all(sql`update upload u set unused_since = ${new Date(now)}
      where purpose = 'post' and unused_since is null
        and not exists (select 1 from upload_use x where x.upload_id = u.id)`);
    const before = new Date(now - unusedDays() * DAY);
    const columns = await columnsWithFiles(data, texts());
    const removeBatch = async (limit: number): Promise<number> => {
      const rows = await data.all(sql<{ id: string }>`
        select id from upload where unused_since < ${before} order by unused_since, id limit ${limit}`);
      const unused = rows.map(({ id }) => id);
      const kept = await idsIn(data, columns, unused);
      // These are checked again after the same number of days.
      if (kept.length > 0)
        await data.all(sql`update upload set unused_since = ${new Date(now)}
          where id = any(${kept}::uuid[]) and unused_since is not null`);
      const gone = unused.filter((id) => !kept.includes(id));
      if (gone.length > 0) await store.removeWhere(sql`unused_since < ${before} and id = any(${gone}::uuid[])`);
      return unused.length;
    };
    await repeatInBatches(signal, removeBatch, UNUSED_BATCH);
  }

  async #removeOrphans(signal: AbortSignal): Promise<void> {
    const { accounts, data, store } = this.#deps;
    let after = ZERO_ID;
    await repeatInBatches(signal, async (limit) => {
      const rows = await data.all(sql<{ id: string }>`
        select distinct account_id as id from upload where account_id > ${after} order by account_id limit ${limit}`);
      const owners = rows.map(({ id }) => id);
      const known = await accounts.authors(owners);
      const gone = owners.filter((id) => !known.has(id));
      if (gone.length > 0) await store.removeWhere(sql`account_id = any(${gone}::uuid[])`);
      after = owners.at(-1) ?? after;
      return owners.length;
    });
  }

  async #removeReplacedAvatars(): Promise<void> {
    await this.#deps.store.removeWhere(sql`purpose = 'avatar' and exists (
      select 1 from upload newer where newer.account_id = upload.account_id and newer.purpose = 'avatar'
        and newer.id > upload.id)`);
  }
}
