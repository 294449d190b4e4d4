import { HttpError, InvalidInput, notFound, sql, type Cache, type Clock, type Data } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { discussionCacheTags } from 'parley-forum/plugins/discussions';
import type { Poll, PollClosed, Polls } from './api.ts';

export interface PollDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  /** For how long polls are open. Asked at each use: the setting may change while the plugin runs. */
  days(): number;
  /** Has `close` called after that time, even if the process is another one by then. */
  closeIn(discussionId: string, milliseconds: number): Promise<unknown>;
  /** Raises `poll.closed`. */
  closed(payload: PollClosed): Promise<void>;
}

interface Row {
  readonly discussion_id: string;
  readonly author_id: string;
  readonly options: readonly string[];
  readonly closes_at: Date;
  readonly is_closed: boolean;
  readonly counts: Readonly<Record<string, number>> | null;
  readonly choice: number | null;
}

const DAY = 86_400_000;

export class PollService implements Polls {
  readonly #deps: PollDeps;

  constructor(deps: PollDeps) {
    this.#deps = deps;
  }

  async ofDiscussions(ids: readonly string[], viewer: Viewer): Promise<readonly (Poll | null)[]> {
    const rows = await this.#rows(ids, viewer.id);
    const polls = new Map(rows.map((row) => [row.discussion_id, pollOf(row)]));
    return ids.map((id) => polls.get(id) ?? null);
  }

  /** Within the transaction that writes the discussion. 409 where it has a poll. */
  async open(discussionId: string, options: readonly string[], authorId: string): Promise<void> {
    const duration = this.#deps.days() * DAY;
    const closesAt = new Date(this.#deps.clock.now() + duration);
    const opened = await this.#deps.data.one(sql`insert into poll (discussion_id, author_id, options, closes_at)
      values (${discussionId}, ${authorId}, ${options}::text[], ${closesAt}) on conflict do nothing returning 1 as one`);
    if (!opened) throw new HttpError(409, 'This discussion has a poll already');
    await this.#deps.closeIn(discussionId, duration);
  }

  async vote(discussionId: string, option: number, viewer: Viewer): Promise<Poll> {
    const { data, cache, clock } = this.#deps;
    const now = new Date(clock.now());
    await data.transaction(async () => {
      // Locked against being closed meanwhile, so that what `poll.closed` tells stays true.
      const poll = await data.one(sql<Pick<Row, 'options' | 'closes_at' | 'is_closed'>>`
        select options, closes_at, is_closed from poll where discussion_id = ${discussionId} for share`);
      if (!poll) throw notFound('This discussion has no poll');
      if (poll.is_closed || poll.closes_at <= now) throw new HttpError(409, 'This poll is closed');
      if (option >= poll.options.length) throw new InvalidInput([{ field: 'option', message: 'is none of this poll' }]);
      await data.all(sql`insert into poll_vote (discussion_id, user_id, choice, created_at)
        values (${discussionId}, ${viewer.id}, ${option}, ${now})
        on conflict (discussion_id, user_id) do update set choice = excluded.choice, created_at = excluded.created_at`);
      await cache.purge(discussionCacheTags.discussion(discussionId));
    });
    const [poll] = await this.ofDiscussions([discussionId], viewer);
    return poll!;
  }

  /** Harmless the second time. */
  async close(discussionId: string): Promise<void> {
    const { data, cache, closed } = this.#deps;
    await data.transaction(async () => {
      const row = await data.one(sql<{ author_id: string }>`update poll set is_closed = true
        where discussion_id = ${discussionId} and not is_closed returning author_id`);
      if (!row) return;
      const { options, votes } = pollOf((await this.#rows([discussionId], undefined))[0]!);
      await closed({ poll: { discussion_id: discussionId, options, votes }, authorId: row.author_id });
      await cache.purge(discussionCacheTags.discussion(discussionId));
    });
  }

  #rows(ids: readonly string[], userId: string | undefined): Promise<readonly Row[]> {
    return this.#deps.data.all(sql<Row>`
      select poll.*, (select choice from poll_vote v where v.discussion_id = poll.discussion_id and v.user_id = ${userId ?? null}),
        (select jsonb_object_agg(choice, count) from (
          select choice, count(*) from poll_vote v where v.discussion_id = poll.discussion_id group by choice
        ) counted) as counts
      from poll where discussion_id = any(${ids}::uuid[])`);
  }
}

function pollOf({ options, counts, closes_at: closesAt, is_closed, choice }: Row): Poll {
  const counted = options.map((text, index) => ({ text, votes: counts?.[index] ?? 0 }));
  return {
    options: counted,
    votes: counted.reduce((sum, { votes }) => sum + votes, 0),
    closes_at: closesAt.toISOString(),
    is_closed,
    choice,
  };
}
