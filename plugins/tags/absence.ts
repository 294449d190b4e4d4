import { sql, type Data } from '#core';
import type { Discussions, Mirror } from '#plugins/discussions';

/** Posts looked through in one transaction: their discussions cannot be changed meanwhile, so it must be short. */
const BATCH = 500;

/** Makes up for what happened to discussions while the plugin was off and heard nothing of it. */
export class Absence {
  readonly #data: Data;
  readonly #discussions: Discussions;
  readonly #mirror: Mirror;

  constructor({ data, discussions, mirror }: { data: Data; discussions: Discussions; mirror: Mirror }) {
    this.#data = data;
    this.#discussions = discussions;
    this.#mirror = mirror;
  }

  async begin(): Promise<void> {
    await this.#data.all(sql`insert into tag_absence (since) values (${await this.#discussions.mark()})`);
  }

  /** Since when it lasted, if there was one; hands it to `keep` in the transaction that forgets it. */
  async end(keep: (since: string) => Promise<unknown>): Promise<void> {
    await this.#data.transaction(async () => {
      const marks = await this.#data.all(sql<{ since: string }>`delete from tag_absence returning since`);
      for (const { since } of marks) await keep(since);
    });
  }

  async catchUp(since: string, signal: AbortSignal): Promise<void> {
    for (let after: string | undefined, more = true; more && !signal.aborted;) {
      after = await this.#data.transaction(async (em) => {
        const posts = await this.#discussions.mirrored(after, BATCH, since);
        await this.#mirror.posts(em, posts);
        return posts.length < BATCH ? undefined : posts.at(-1)!.id;
      });
      more = after !== undefined;
    }
    signal.throwIfAborted();
  }
}
