import { messageOf, type Cache, type Logger } from 'parley-forum';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { Live } from 'parley-forum/plugins/live';
import { typingTag, type TypingSignal, type Typing, type Typist } from 'parley-forum/plugins/typing';
import type { Writers } from './writers.ts';

/** The name of the signal on the streams. */
export const SIGNAL = 'typing';

interface Parts {
  readonly writers: Writers;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly live: Live | undefined;
  readonly cache: Cache;
  readonly log: Logger;
}

/** Who is writing in a discussion. While Redis is away, nobody is: it is not worth an error. */
export class TypingService implements Typing {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async typists(discussionId: string): Promise<readonly Typist[]> {
    const ids = (await this.#try(this.#parts.writers.of(discussionId))) ?? [];
    const authors = await this.#parts.accounts.authors(ids);
    return ids.flatMap((id) => authors.get(id) ?? []).map(({ id, username }) => ({ id, username }));
  }

  /** Until when what is known holds, unless `typingTag` is purged; undefined: it may change unheard. */
  holdsUntil(): number | undefined {
    return this.#parts.writers.holdsUntil();
  }

  async start(discussionId: string, typist: Typist): Promise<void> {
    await this.#try(this.#parts.writers.add(discussionId, typist.id));
    await this.#tell({ discussion_id: discussionId, user: typist, typing: true });
  }

  async stop(discussionId: string, typist: Typist): Promise<void> {
    await this.#try(this.#parts.writers.remove(discussionId, typist.id));
    await this.#tell({ discussion_id: discussionId, user: typist, typing: false });
  }

  async #tell(signal: TypingSignal): Promise<void> {
    const { live, cache } = this.#parts;
    live?.send(SIGNAL, signal);
    // With Redis no answer is kept, so there is nothing to say to the other processes.
    if (!cache.redis) await cache.purge(typingTag);
  }

  #try<T>(work: Promise<T>): Promise<T | undefined> {
    return work.catch(
      (error: unknown) => void this.#parts.log.debug({ error: messageOf(error) }, 'who is writing is not known'),
    );
  }
}
