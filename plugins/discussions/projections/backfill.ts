import { sql, Type, type Data, type PluginHandle } from 'parley-forum';
import type { Mirror } from 'parley-forum/plugins/discussions';
import type { Mirroring } from './projections.ts';

/** Posts looked through in one transaction: their discussions cannot be changed meanwhile, so it must be short. */
const BATCH = 500;

/** Makes up for what was written while a plugin with a mirror was off and heard nothing of it. */
export class Absences {
  readonly #data: Data;
  readonly #mirroring: Mirroring;

  constructor({ data, mirroring }: { data: Data; mirroring: Mirroring }) {
    this.#data = data;
    this.#mirroring = mirroring;
  }

  /** Notes in the table `marks` when the plugin stops, and goes through what came since then now. */
  async makeUp(plugin: PluginHandle, mirror: Pick<Mirror, 'posts'>, marks: string): Promise<void> {
    const data = this.#data;
    const table = sql.table(marks);
    // One batch an attempt, which leaves the rest to the next one in the same transaction: a stop loses nothing of what
    // was done.
    const catchUp = plugin.job<{ readonly since: string; readonly after?: string }>('catch-up', {
      schema: Type.Object({ since: Type.String(), after: Type.Optional(Type.String()) }),
      run: ({ since, after }, { continueWith }) =>
        data.transaction(async (em) => {
          const posts = await this.#mirroring.mirrored(after, BATCH, since);
          if (posts.length > 0) await mirror.posts(em, posts);
          if (posts.length === BATCH) await continueWith({ since, after: posts.at(-1)!.id });
        }),
    });
    await data.transaction(async () => {
      const ended = await data.all(sql<{ since: string }>`delete from ${table} returning since`);
      for (const { since } of ended) await catchUp.add({ since });
    });
    plugin.defer(
      async () => void (await data.all(sql`insert into ${table} (since) values (${await this.#mirroring.mark()})`)),
    );
  }
}
