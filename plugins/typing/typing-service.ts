import { messageOf, type Cache, type Logger } from 'parley-forum';
import type { Accounts, Author } from 'parley-forum/plugins/accounts';
import type { Live } from 'parley-forum/ports/live';
import type { Presence } from 'parley-forum/plugins/presence';
import { typingTag, type TypingSignal, type Typing, type Typist } from 'parley-forum/plugins/typing';
import type { TypistStore } from './typist-store.ts';

/** The name of the signal on the live stream. */
export const SIGNAL = 'typing';

const typistOf = ({ id, username, display_name }: Author): Typist => ({ id, username, display_name });

interface TypingDeps {
  readonly store: TypistStore;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly presence: Pick<Presence, 'hidden'>;
  readonly live: Live | undefined;
  readonly cache: Cache;
  readonly log: Logger;
}

/** Tells who is writing in a discussion. While Redis is unavailable, the list is empty instead of an error. */
export class TypingService implements Typing {
  readonly #deps: TypingDeps;

  constructor(deps: TypingDeps) {
    this.#deps = deps;
  }

  async typists(discussionId: string): Promise<readonly Typist[]> {
    const ids = (await this.#try(this.#deps.store.of(discussionId))) ?? [];
    const authors = await this.#deps.accounts.authors(ids);
    return ids.flatMap((id) => authors.get(id) ?? []).map(typistOf);
  }

  /** Until when the list is valid unless `typingTag` is purged; undefined if it may change without notice. */
  freshUntil(): number | undefined {
    return this.#deps.store.freshUntil();
  }

  async start(discussionId: string, userId: string): Promise<void> {
    // Members who hide their presence are not announced as typists.
    if ((await this.#deps.presence.hidden([userId])).has(userId)) return;
    await this.#try(this.#deps.store.add(discussionId, userId));
    await this.#publish(discussionId, userId, true);
  }

  async stop(discussionId: string, userId: string): Promise<void> {
    const wrote = await this.#try(this.#deps.store.remove(discussionId, userId));
    if (wrote) await this.#publish(discussionId, userId, false);
  }

  async #publish(discussionId: string, userId: string, typing: boolean): Promise<void> {
    const { live, cache, accounts } = this.#deps;
    const author = live && (await accounts.authors([userId])).get(userId);
    if (author)
      live.send(SIGNAL, { discussion_id: discussionId, user: typistOf(author), typing } satisfies TypingSignal);
    // With Redis no response is cached, so there is nothing to purge.
    if (!cache.redis) await cache.purge(typingTag);
  }

  #try<T>(work: Promise<T>): Promise<T | undefined> {
    return work.catch(
      (error: unknown) => void this.#deps.log.debug({ error: messageOf(error) }, 'the typing indicator is unavailable'),
    );
  }
}
