import { sql, Type, type Data, type PluginHandle } from '#core';
import type { Mirror } from '#plugins/discussions';
import type { Mirroring } from './mirroring.ts';

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
    const catchUp = plugin.job<{ readonly since: string }>('catch-up', {
      schema: Type.Object({ since: Type.String() }), run: ({ since }, { signal }) => this.#goThrough(mirror, since, signal),
    });
    await data.transaction(async () => {
      const ended = await data.all(sql<{ since: string }>`delete from ${table} returning since`);
      for (const { since } of ended) await catchUp.add({ since });
    });
    plugin.defer(async () => void (await data.all(sql`insert into ${table} (since) values (${await this.#mirroring.mark()})`)));
  }

  async #goThrough(mirror: Pick<Mirror, 'posts'>, since: string, signal: AbortSignal): Promise<void> {
    for (let after: string | undefined, more = true; more && !signal.aborted;) {
      after = await this.#data.transaction(async (em) => {
        const posts = await this.#mirroring.mirrored(after, BATCH, since);
        if (posts.length > 0) await mirror.posts(em, posts);
        return posts.length < BATCH ? undefined : posts.at(-1)!.id;
      });
      more = after !== undefined;
    }
    signal.throwIfAborted();
  }
}
