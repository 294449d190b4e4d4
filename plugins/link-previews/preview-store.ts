import { createId, sql, ZERO_ID, type Cache, type Clock, type Data, type RawBuilder } from 'parley-forum';
import { isId } from 'parley-forum/plugins/api';
import { discussionCacheTags } from 'parley-forum/plugins/discussions';
import { repeatInBatches } from 'parley-forum/ports/personal-data';
import type { Thumbnail } from 'parley-forum/ports/pictures';

const DAY = 86_400_000;
/** Maximum number of discussions purged from the cache one by one; for a link in more of them, all are purged. */
const MAX_DISCUSSIONS = 100;

/** Cache tag of everything that contains previews. */
export const ALL_PREVIEWS = 'link-previews';
/** Cache tag of the preview of one URL. */
export const previewTag = (url: string): string => `link-preview:${url}`;

/** A page's description of itself. */
export interface PageSummary {
  readonly title: string;
  readonly description: string | undefined;
  readonly site: string | undefined;
}
/** The result of fetching a page. */
export interface FetchedPage extends PageSummary {
  readonly picture: Thumbnail | undefined;
}
/** A preview as a card shows it. */
export interface ShownPreview {
  readonly url: string;
  readonly title: string;
  readonly description: string | null;
  readonly site: string | null;
  readonly picture: { readonly id: string; readonly width: number; readonly height: number } | null;
}
/** A page to fetch, for the first time or again. */
export interface DuePreview {
  readonly id: string;
  readonly url: string;
}
/** A preview's position in the order of creation. */
interface Age {
  readonly created_at: Date;
  readonly id: string;
}
/** SQL condition: the preview `l` is shown by a post. */
const IN_USE = sql`exists (select 1 from link_preview_use u where u.preview_id = l.id and u.visible)`;
/** SQL condition: no post has the preview `l`, not even a deleted one. */
const UNUSED = sql`not exists (select 1 from link_preview_use u where u.preview_id = l.id)`;

interface PreviewStoreDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  /** Days after which a fetched page is fetched again. */
  days(): number;
}

/**
 * Stores previews by URL, with their pictures. Failures are stored too, so that no server gets the same request again
 * and again.
 */
export class PreviewStore {
  readonly #deps: PreviewStoreDeps;

  constructor(deps: PreviewStoreDeps) {
    this.#deps = deps;
  }

  /** The previews of those URLs whose pages were fetched. */
  shown(urls: readonly string[]): Promise<readonly ShownPreview[]> {
    return this.#deps.data.all(sql<ShownPreview>`
      select l.url, l.title, l.description, l.site,
        case when p.id is not null then json_build_object('id', p.id, 'width', p.width, 'height', p.height) end as picture
      from link_preview l left join link_preview_picture p on p.preview_id = l.id
      where l.url = any(${urls}::text[]) and l.title is not null`);
  }

  async picture(id: string): Promise<Uint8Array | undefined> {
    if (!isId(id)) return undefined;
    const row = await this.#deps.data.one(
      sql<{ bytes: Uint8Array }>`select bytes from link_preview_picture where id = ${id}`,
    );
    return row?.bytes;
  }

  /** The URL to fetch; undefined if it was fetched already, or if no post shows it any more. */
  async due(id: string): Promise<string | undefined> {
    const { clock, data } = this.#deps;
    const row = await data.one(
      sql<{
        url: string;
      }>`select url from link_preview l where id = ${id} and due_at <= ${new Date(clock.now())} and ${IN_USE}`,
    );
    return row?.url;
  }

  async allDue(limit: number): Promise<readonly DuePreview[]> {
    const { clock, data } = this.#deps;
    return data.all(
      sql<DuePreview>`select id, url from link_preview l
        where due_at <= ${new Date(clock.now())} and ${IN_USE} order by due_at, id limit ${limit}`,
    );
  }

  /**
   * Stores the result of fetching a page, or a failure if `page` is undefined. Failures are retried after 1, 2, 4 and
   * so on days, up to the number of days after which pages are fetched again. Resolves to whether posts may look
   * different now.
   */
  save(id: string, page: FetchedPage | undefined): Promise<boolean> {
    const { clock, data, days } = this.#deps;
    return data.transaction(async () => {
      const now = clock.now();
      const row = await data.one(sql<{ url: string; before: boolean; failures: number }>`
        select url, title is not null as before, failures from link_preview where id = ${id} for update`);
      if (!row) return false;
      const failures = page ? 0 : Math.min(row.failures + 1, 15);
      const due = page ? days() : Math.min(days(), 2 ** (failures - 1));
      await data.all(sql`update link_preview
        set title = ${page?.title ?? null}, description = ${page?.description ?? null},
        site = ${page?.site ?? null}, failures = ${failures}, due_at = ${new Date(now + due * DAY)} where id = ${id}`);
      await data.all(sql`delete from link_preview_picture where preview_id = ${id}`);
      // The picture gets a new id each time, so that browsers may cache the old one for as long as they like.
      if (page?.picture)
        await data.all(sql`insert into link_preview_picture (id, preview_id, width, height, bytes)
          values (${createId(now)}, ${id}, ${page.picture.width}, ${page.picture.height}, ${page.picture.bytes})`);
      const changed = page !== undefined || row.before;
      if (changed) await this.#purge(id, row.url);
      return changed;
    });
  }

  /** Ids of the newest posts that show the preview, up to a limit. */
  async postsWith(id: string): Promise<readonly string[]> {
    const rows = await this.#deps.data.all(
      sql<{
        id: string;
      }>`select post_id as id from link_preview_use where preview_id = ${id} and visible
        order by post_id desc limit ${MAX_DISCUSSIONS}`,
    );
    return rows.map((row) => row.id);
  }

  /** Removes previews that are older than a day and that no post has. Reads each preview once. */
  async removeUnused(signal: AbortSignal): Promise<void> {
    const { clock, data } = this.#deps;
    const before = new Date(clock.now() - DAY);
    let passed: Age = { created_at: new Date(0), id: ZERO_ID };
    await repeatInBatches(signal, async (limit) => {
      const rows = await data.all(sql<Age & { unused: boolean }>`
        select l.*, ${UNUSED} as unused from (
          select created_at, id from link_preview
          where created_at < ${before} and (created_at, id) > (${passed.created_at}, ${passed.id})
          order by created_at, id limit ${limit}) l order by created_at, id`);
      passed = rows.at(-1) ?? passed;
      const unused = rows.filter((row) => row.unused).map(({ id }) => id);
      if (unused.length > 0) await this.#remove(sql`id = any(${unused}::uuid[])`, UNUSED);
      return rows.length;
    });
  }

  /** Removes the oldest previews beyond `most`. */
  async removeOldest(most: number, signal: AbortSignal): Promise<void> {
    const newest = await this.#deps.data.one(
      sql<Age>`select created_at, id from link_preview order by created_at desc, id desc offset ${most} limit 1`,
    );
    if (!newest) return;
    const beyond = sql`(created_at, id) <= (${newest.created_at}, ${newest.id})`;
    await repeatInBatches(signal, (limit) =>
      this.#remove(sql`${beyond} order by created_at, id limit ${limit}`, sql`true`),
    );
  }

  /**
   * Removes those of the `found` previews that are `still` to be removed once they are locked. Resolves to how many
   * were removed.
   */
  #remove(found: RawBuilder<unknown>, still: RawBuilder<unknown>): Promise<number> {
    const { cache, data } = this.#deps;
    return data.transaction(async () => {
      // A post that is being written locks the previews it shows. After locking, `still` is checked again, as others
      // may have been using them until then.
      const held = await data.all(sql<{ id: string }>`
        select id from link_preview where ${found} for update skip locked`);
      const rows = await data.all(sql<{ shown: boolean }>`
        delete from link_preview l where id = any(${held.map(({ id }) => id)}::uuid[]) and ${still}
        returning title is not null as shown`);
      if (rows.some(({ shown }) => shown)) await cache.purge(ALL_PREVIEWS, discussionCacheTags.all);
      return rows.length;
    });
  }

  async #purge(id: string, url: string): Promise<void> {
    const { cache, data } = this.#deps;
    const rows = await data.all(
      sql<{
        discussion: string;
      }>`select distinct discussion_id as discussion from link_preview_use
        where preview_id = ${id} limit ${MAX_DISCUSSIONS + 1}`,
    );
    const tags =
      rows.length > MAX_DISCUSSIONS
        ? [discussionCacheTags.all]
        : rows.map(({ discussion }) => discussionCacheTags.discussion(discussion));
    await cache.purge(previewTag(url), ...tags);
  }
}
