import { sql, type Clock, type Data, type EntityManager } from 'parley-forum';
import type { PostProjection, ProjectedPost } from 'parley-forum/plugins/discussions';

const UPLOAD_URL = /\/uploads\/([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})\//gi;

/** Ids of the uploads that a text refers to, in lower case. */
export const referencedUploads = (html: string): readonly string[] => [
  ...new Set([...html.matchAll(UPLOAD_URL)].map(([, id = '']) => id.toLowerCase())),
];

/**
 * Records, in the transaction that writes a post, which uploads it shows or links to. A deleted post keeps its
 * references, since it may be restored. One statement, regardless of the number of posts.
 */
export class UploadReferences implements PostProjection {
  readonly #data: Data;
  readonly #clock: Clock;

  constructor({ data, clock }: { readonly data: Data; readonly clock: Clock }) {
    this.#data = data;
    this.#clock = clock;
  }

  /** Locks the referenced rows, so that this and the removal of unused files wait for each other. */
  async posts(_em: EntityManager, posts: readonly ProjectedPost[]): Promise<void> {
    const ids = posts.map(({ id }) => id);
    const uses = posts.flatMap(({ id, html }) => referencedUploads(html).map((upload) => ({ id, upload })));
    await this.#data.all(sql`
      with named as (
        select n.post_id, u.id as upload_id
        from unnest(${uses.map(({ id }) => id)}::uuid[], ${uses.map(({ upload }) => upload)}::uuid[]) as n (post_id, upload_id) join upload u on u.id = n.upload_id
        where u.purpose = 'post' order by u.id for update of u
      ), dropped as (
        delete from upload_use x where x.post_id = any(${ids}::uuid[])
          and not exists (select 1 from named n where n.post_id = x.post_id and n.upload_id = x.upload_id)
          returning x.upload_id
      ), added as (
        insert into upload_use (post_id, upload_id) select post_id, upload_id from named on conflict do nothing
      )
      update upload u set unused_since = case when n.upload_id is null then ${new Date(this.#clock.now())}::timestamptz end
      from (select upload_id from dropped union select upload_id from named) t
      left join (select distinct upload_id from named) n on n.upload_id = t.upload_id
      where u.id = t.upload_id and (
        (n.upload_id is not null and u.unused_since is not null)
        or (n.upload_id is null
            and not exists (select 1 from upload_use x where x.upload_id = u.id and x.post_id <> all(${ids}::uuid[])))
      )`);
  }

  /** References belong to posts; nothing to do. */
  async discussion(): Promise<void> {}

  async category(): Promise<void> {}
}
