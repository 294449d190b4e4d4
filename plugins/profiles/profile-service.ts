import { InvalidInput, sql, type Cache, type Clock, type Data, type PluginHandle } from 'parley-forum';
import { accountTag, type Accounts } from 'parley-forum/plugins/accounts';
import type { Markdown } from 'parley-forum/plugins/markdown';
import { profileCleared, profileUpdated } from 'parley-forum/plugins/profiles';
import { checkedChanges, type ProfileChanges } from './checks.ts';
import { EMPTY, type Profile } from './rows.ts';

export interface ProfileDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly accounts: Pick<Accounts, 'setProfile'>;
  readonly markdown: Markdown;
  readonly emit: PluginHandle['emit'];
}

/** What members say about themselves: one row per member, read often and changed rarely. */
export class ProfileService {
  readonly #deps: ProfileDeps;

  constructor(deps: ProfileDeps) {
    this.#deps = deps;
  }

  /** Cached; empty if the member has no profile. */
  find(userId: string): Promise<Profile> {
    const { cache, data } = this.#deps;
    return cache.remember(`profile:${userId}`, [accountTag(userId)], async () => {
      const row = await data.one(sql<Profile>`select about, html, place, links, updated_at as "updatedAt"
        from profile where user_id = ${userId}`);
      return row ?? EMPTY;
    });
  }

  /** Throws 400 naming `about`, `place` or `links`. */
  async change(userId: string, changes: ProfileChanges): Promise<void> {
    const { data, clock } = this.#deps;
    const { about, place, links } = checkedChanges(changes);
    const html = about === undefined ? undefined : await this.#render(about);
    await data.transaction(async () => {
      await data.all(sql`insert into profile as p (user_id, about, html, place, links, updated_at)
        values (${userId}, ${about ?? ''}, ${html ?? ''}, ${place ?? ''}, ${[...(links ?? [])]}::text[], ${new Date(clock.now())})
        on conflict (user_id) do update set
          about = coalesce(${about ?? null}, p.about), html = coalesce(${html ?? null}, p.html),
          place = coalesce(${place ?? null}, p.place), links = coalesce(${links ? [...links] : null}::text[], p.links),
          updated_at = excluded.updated_at`);
      await this.#changed(userId);
    });
  }

  /** Clears everything that others see of the member except username and picture. The caller checks the permission. */
  async clear(userId: string, by: string): Promise<void> {
    const { data, accounts, emit } = this.#deps;
    await data.transaction(async () => {
      await data.all(sql`delete from profile where user_id = ${userId}`);
      await accounts.setProfile(userId, { displayName: '', bio: '' });
      await this.#changed(userId);
      await emit(profileCleared, { id: userId, by });
    });
  }

  async erase(userId: string): Promise<void> {
    const { data, cache } = this.#deps;
    await data.all(sql`delete from profile where user_id = ${userId}`);
    await cache.purge(accountTag(userId));
  }

  async #changed(id: string): Promise<void> {
    const { cache, emit } = this.#deps;
    await emit(profileUpdated, { user: { id } });
    await cache.purge(accountTag(id));
  }

  async #render(about: string): Promise<string> {
    const wrong = (...messages: readonly string[]): Error =>
      new InvalidInput(messages.map((message) => ({ field: 'about', message })));
    if (about === '') return '';
    const html = await this.#deps.markdown.render(about).catch((error: unknown) => {
      throw error instanceof InvalidInput ? wrong(...(error.details ?? []).map(({ message }) => message)) : error;
    });
    // Uploaded files are kept only for posts that show them, and an external image would reveal each visit to its host.
    if (html.includes('<img ')) throw wrong('has pictures, which only posts may contain; link to them instead');
    return html;
  }
}
