import { createId, HttpError, sql, type Clock, type Data, type PluginHandle } from 'parley-forum';
import { MOST_HELD } from 'parley-forum/plugins/approval';
import { type HeldPost, postHeld, type SentPost } from 'parley-forum/plugins/discussions';
import { phrase } from 'parley-forum/plugins/web';
import type { Rules } from './rules.ts';

/** The page that shows members their held posts. */
export const OWN = '/settings/held-posts';

interface HolderDeps {
  readonly plugin: PluginHandle;
  readonly data: Data;
  readonly clock: Clock;
  readonly rules: Rules;
}

/** Holds posts back before they are published. */
export class Holder {
  readonly #deps: HolderDeps;

  constructor(deps: HolderDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves to `null` if the post is to be published right away. Throws 409 if the member already has too many held
   * posts.
   */
  async hold(post: SentPost): Promise<HeldPost | null> {
    const { plugin, data, clock, rules } = this.#deps;
    const reason = await rules.reasonToHold(post);
    if (!reason) return null;
    const draft = JSON.stringify(await post.draft());
    const now = new Date(clock.now());
    const [id, authorId, discussionId] = [createId(now.getTime()), post.author.id!, post.discussion?.id ?? null];
    await data.transaction(async () => {
      await data.lock(`approval:${authorId}`);
      const stored = await data.one(sql`
        insert into held_post (id, author_id, discussion_id, category_id, draft, title, html, reason, created_at)
        select ${id}::uuid, ${authorId}::uuid, ${discussionId}::uuid, ${post.categoryId}::uuid, ${draft}::jsonb,
          ${post.title}, ${post.html}, ${reason}, ${now}::timestamptz
        where (select count(*) < ${MOST_HELD} from held_post where author_id = ${authorId} and status = 'held')
        returning id`);
      if (!stored) {
        throw new HttpError(
          409,
          `${MOST_HELD} of your posts are waiting for a moderator; write more when they have been reviewed`,
          {
            code: 'too_many_held',
          },
        );
      }
      await plugin.emit(postHeld, {
        held_post: {
          id,
          discussion_id: discussionId,
          category_id: post.categoryId,
          reason,
          author: { id: authorId, username: post.author.username ?? '' },
          created_at: now.toISOString(),
        },
        title: post.title,
        content: post.content,
      });
    });
    return { id, path: OWN, notice: phrase('approval:held') };
  }
}
