import { sql, type Clock, type Data } from 'parley-forum';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { UploadFiles } from './file-storage.ts';
import type { UploadStore } from './upload-store.ts';

/** Rows in one statement. */
const BATCH = 500;
const DAY = 24 * 3_600_000;

interface TidyingParts {
  readonly data: Data;
  readonly clock: Clock;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly store: UploadStore;
  readonly files: UploadFiles;
  unusedDays(): number;
}

/**
 * Removes, once a day, what nobody needs: unused files, those of accounts that are gone, avatars that were replaced,
 * and what crashes left on the disk.
 */
export class Tidying {
  readonly #parts: TidyingParts;

  constructor(parts: TidyingParts) {
    this.#parts = parts;
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#unused(signal);
    await this.#orphans(signal);
    await this.#replaced();
    const { clock, files, store } = this.#parts;
    if (!signal.aborted) await files.sweep(clock.now(), (ids) => store.known(ids));
  }

  /** Looks again at each row when it is removed: a post may have begun to use it meanwhile. */
  async #unused(signal: AbortSignal): Promise<void> {
    const { clock, data, store, unusedDays } = this.#parts;
    const now = clock.now();
    // Two posts that let go of the last uses at the same moment each saw the other's.
    await data.all(sql`update upload u set unused_since = ${new Date(now)}
      where purpose = 'post' and unused_since is null and not exists (select 1 from upload_use x where x.upload_id = u.id)`);
    const before = new Date(now - unusedDays() * DAY);
    for (let gone = BATCH; gone === BATCH && !signal.aborted;) {
      gone = (
        await store.removeWhere(
          sql`unused_since < ${before} and id in (select id from upload where unused_since < ${before} order by unused_since, id limit ${BATCH})`,
        )
      ).length;
    }
  }

  async #orphans(signal: AbortSignal): Promise<void> {
    const { accounts, data, store } = this.#parts;
    for (let after = '00000000-0000-0000-0000-000000000000', more = true; more && !signal.aborted;) {
      const owners = (
        await data.all(sql<{ id: string }>`
        select distinct account_id as id from upload where account_id > ${after} order by account_id limit ${BATCH}`)
      ).map(({ id }) => id);
      const known = await accounts.authors(owners);
      const gone = owners.filter((id) => !known.has(id));
      if (gone.length > 0) await store.removeWhere(sql`account_id = any(${gone}::uuid[])`);
      more = owners.length === BATCH;
      after = owners.at(-1) ?? after;
    }
  }

  async #replaced(): Promise<void> {
    await this.#parts.store.removeWhere(sql`purpose = 'avatar' and exists (
      select 1 from upload newer where newer.account_id = upload.account_id and newer.purpose = 'avatar' and newer.id > upload.id)`);
  }
}
