import { HttpError, InvalidInput, sql, type Cache, type Data, type Environment, type RawBuilder } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { badCursor, decodeCursor, decodePosition, isId, pageOfRows, type Page } from 'parley-forum/plugins/api';
import type { Categories, DiscussionHead, DiscussionRecord, Discussions } from 'parley-forum/plugins/discussions';
import { searchTag, type Search, type SearchRequest, type SearchResult } from 'parley-forum/plugins/search';
import type { Tags } from 'parley-forum/ports/tags';
import { queryConditions } from './query/query-conditions.ts';
import type { Language } from './languages.ts';
import { MAX_QUERY_LENGTH, parseQuery, type Query } from './query/query.ts';
import { discussionResults, memberResult, postResults } from './results.ts';
import { bucketsBefore } from './time-buckets.ts';
import { newestMatches, MAX_RANKED, rankedPage } from './statements.ts';
import {
  closestOpenings,
  closestTitles,
  newestOpenings,
  newestTitles,
  titleWords,
  twoWordsOf,
  wordsOf,
  type TitleWords,
} from './query/similar-titles.ts';

/** Milliseconds after which a search is cancelled. */
const TIMEOUT = 2_000;
/** Minimum length in characters of a title to find similar ones. */
const MIN_TITLE = 3;
/** Seconds for which related discussions are cached, whatever is written in the meantime. */
const RELATED_FOR = 600;
/** SQLSTATE code for a cancelled statement. */
const QUERY_CANCELED = '57014';

export interface SearchDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly environment: Environment;
  readonly accounts: Accounts;
  readonly categories: Categories;
  readonly discussions: Discussions;
  readonly tags: Tags | undefined;
  readonly language: () => Language;
}

/** Finds what the viewer may see. */
export class SearchService implements Search {
  readonly #deps: SearchDeps;

  constructor(deps: SearchDeps) {
    this.#deps = deps;
  }

  search(request: SearchRequest, viewer: Viewer): Promise<Page<SearchResult>> {
    if (request.q.trim() === '' || request.q.length > MAX_QUERY_LENGTH)
      throw new InvalidInput([{ field: 'q', message: `must have 1 to ${MAX_QUERY_LENGTH} characters` }]);
    const query = parseQuery(request.q);
    return request.type === 'users' ? this.#members(query, request) : this.#posts(query, request, viewer);
  }

  async #posts(
    query: Query,
    { type, sort, limit, offset = 0, cursor }: SearchRequest,
    viewer: Viewer,
  ): Promise<Page<SearchResult>> {
    const after = cursor === undefined ? undefined : readCursor(cursor);
    const conditions = await queryConditions(query, this.#deps, viewer);
    if (!conditions) return { items: [], hasMore: false, nextCursor: undefined };
    const perDiscussion = type === 'discussions';
    const { text } = query;
    const filter = { language: this.#deps.language(), text, conditions, perDiscussion, newestFirst: sort === 'newest' };
    const rows = await this.#bounded(async (begun, newest) => {
      const until = query.before && query.before < newest ? query.before : newest;
      const statement = (bucket: string | undefined) => newestMatches(filter, bucket);
      const ids = await this.#candidates(statement, begun, text === '' ? [undefined] : bucketsBefore(until));
      return ids.length === 0 ? [] : this.#deps.data.all(rankedPage(filter, ids, { limit, offset, after }));
    });
    const page = pageOfRows(rows, limit, ({ score, id }) => [score, id]);
    const found = page.items;
    const records = await this.#deps.discussions.records(
      found.map((row) => row.discussion_id),
      viewer,
    );
    const items = perDiscussion ? discussionResults(found, records) : await postResults(found, records, this.#deps);
    return { ...page, items };
  }

  async similar(title: string, viewer: Viewer): Promise<readonly DiscussionRecord[]> {
    const { data } = this.#deps;
    if (title.trim().length < MIN_TITLE) return [];
    const ids = await this.#alike(title, viewer, async (read, visible, begun, newest) => {
      const words = wordsOf(read);
      const statement = (bucket: string | undefined) => newestTitles(words, visible, bucket);
      const found = words.length === 0 ? [] : await this.#candidates(statement, begun, bucketsBefore(newest));
      return found.length === 0 ? [] : data.all(closestTitles(words, found));
    });
    return this.#deps.discussions.records(ids, viewer);
  }

  async related(
    { id, title }: Pick<DiscussionHead, 'id' | 'title'>,
    viewer: Viewer,
  ): Promise<readonly DiscussionRecord[]> {
    const { data, cache, discussions } = this.#deps;
    const find = (): Promise<readonly string[]> =>
      this.#alike(title, viewer, async (read, visible, begun, newest) => {
        const query = twoWordsOf(read);
        if (query === undefined) return [];
        const statement = (bucket: string | undefined) => newestOpenings(query, visible, bucket);
        return data.all(closestOpenings(query, await this.#candidates(statement, begun, bucketsBefore(newest)), id));
      });
    const key = `search.related:${id} ${viewer.group.id} ${title}`;
    return discussions.records(await cache.remember(key, [searchTag], find, { seconds: RELATED_FOR }), viewer);
  }

  /** Ids of discussions in the `visible` categories that `find` returns for the words of a title. */
  async #alike(
    title: string,
    viewer: Viewer,
    find: (
      words: TitleWords,
      visible: readonly string[],
      begun: number,
      newest: Date,
    ) => Promise<readonly { readonly discussion_id: string }[]>,
  ): Promise<readonly string[]> {
    const { data, categories, language } = this.#deps;
    await categories.refresh();
    const visible = categories.visible(viewer).map(({ id }) => id);
    const rows = await this.#bounded(async (begun, newest) =>
      find((await data.one(titleWords(title, language())))!, visible, begun, newest),
    );
    return rows.map((row) => row.discussion_id);
  }

  /** Queries increasingly long time buckets until there are enough matches. */
  async #candidates(
    statement: (bucket: string | undefined) => RawBuilder<{ ids: string[] }>,
    begun: number,
    buckets: readonly (string | undefined)[],
  ): Promise<readonly string[]> {
    for (const bucket of buckets) {
      if (performance.now() - begun > TIMEOUT) throw tooSlow();
      const row = await this.#deps.data.one(statement(bucket));
      if (bucket === undefined || row!.ids.length >= MAX_RANKED) return row!.ids;
    }
    return [];
  }

  async #members({ text }: Query, { limit, offset = 0, cursor }: SearchRequest): Promise<Page<SearchResult>> {
    const start = (cursor === undefined ? 0 : decodePosition(cursor)) + offset;
    const name = text.replaceAll('"', '').trim();
    const accounts =
      name === '' ? [] : await this.#deps.accounts.searchNames({ text: name, limit: limit + 1, offset: start });
    const page = pageOfRows(accounts, limit, () => [start + limit]);
    return {
      ...page,
      items: page.items.map((account) => memberResult(account, name, this.#deps.environment.baseUrl)),
    };
  }

  /**
   * The server cancels each statement after two seconds. The embedded database cannot be interrupted, so there the
   * search stops between two statements.
   */
  async #bounded<Row>(work: (begun: number, newest: Date) => Promise<readonly Row[]>): Promise<readonly Row[]> {
    const { data } = this.#deps;
    try {
      return await data.transaction(async () => {
        // Plan for the actual words, and use the indexes: the estimates of how many posts contain a word are not
        // reliable enough to choose a sequential scan instead.
        await data.all(sql`select set_config('statement_timeout', ${String(TIMEOUT)}, true),
          set_config('plan_cache_mode', 'force_custom_plan', true),
          set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`);
        const row = await data.one(sql<{ newest: Date | null }>`select max(created_at) as newest from search_post`);
        return row?.newest ? work(performance.now(), row.newest) : [];
      });
    } catch (error) {
      throw (error as { code?: unknown }).code === QUERY_CANCELED ? tooSlow(error) : error;
    }
  }
}

const tooSlow = (cause?: unknown): HttpError =>
  new HttpError(
    503,
    'This search took too long; use rarer words, or narrow it with category:, author:, tag:, before: or after:',
    {
      code: 'search_too_slow',
      headers: { 'Retry-After': '5' },
      cause,
    },
  );

function readCursor(cursor: string): readonly [number, string] {
  const [score, id] = decodeCursor(cursor, 2);
  if (typeof score !== 'number' || typeof id !== 'string' || !isId(id)) throw badCursor();
  return [score, id];
}
