import { sql, Type, type Data, type PluginHandle } from 'parley-forum';
import type { PostProjection } from 'parley-forum/plugins/discussions';
import type { Projections } from './projections.ts';

/** Posts processed in one transaction: their discussions cannot be changed meanwhile, so it must be short. */
const BATCH = 500;

/** Passes to a projection what was written while its plugin was off. */
export class ProjectionBackfill {
  readonly #data: Data;
  readonly #projections: Projections;

  constructor({ data, projections }: { data: Data; projections: Projections }) {
    this.#data = data;
    this.#projections = projections;
  }

  /** Stores a checkpoint when the plugin stops, and passes on what was written since the stored one now. */
  async run(plugin: PluginHandle, projection: Pick<PostProjection, 'posts'>, checkpointTable: string): Promise<void> {
    const data = this.#data;
    const table = sql.table(checkpointTable);
    // One batch an attempt, which leaves the rest to the next one in the same transaction: a stop loses nothing of what
    // was done.
    const catchUp = plugin.job<{ readonly since: string; readonly after?: string }>('catch-up', {
      schema: Type.Object({ since: Type.String(), after: Type.Optional(Type.String()) }),
      run: ({ since, after }, { continueWith }) =>
        data.transaction(async (em) => {
          const posts = await this.#projections.projectedPosts(after, BATCH, since);
          if (posts.length > 0) await projection.posts(em, posts);
          if (posts.length === BATCH) await continueWith({ since, after: posts.at(-1)!.id });
        }),
    });
    await data.transaction(async () => {
      const stopped = await data.all(sql<{ since: string }>`delete from ${table} returning since`);
      for (const { since } of stopped) await catchUp.add({ since });
    });
    plugin.defer(
      async () =>
        void (await data.all(sql`insert into ${table} (since) values (${await this.#projections.checkpoint()})`)),
    );
  }
}
