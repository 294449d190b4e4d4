import { HttpError, InvalidInput, sql, type Data, type Environment } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { badCursor, decodeCursor, decodePosition, encodeCursor, isId, type Page } from 'parley-forum/plugins/api';
import type { Categories, Discussions } from 'parley-forum/plugins/discussions';
import type { Search, SearchRequest, SearchResult } from 'parley-forum/plugins/search';
import type { Tags } from 'parley-forum/plugins/tags';
import { conditionsOf } from './conditions.ts';
import type { Language } from './languages.ts';
import { LONGEST, readQuery, type Query } from './query.ts';
import { discussionResults, memberResult, postResults } from './results.ts';
import { spansBefore } from './spans.ts';
import { newestMatches, RANKED, rankedPage, type FoundRow, type Matching } from './statements.ts';

/** Milliseconds after which a search is given up. */
const PATIENCE = 2_000;
/** PostgreSQL's code for a statement that was cut off. */
const CUT_OFF = '57014';

export interface SearchServices {
  readonly data: Data;
  readonly environment: Environment;
  readonly accounts: Accounts;
  readonly categories: Categories;
  readonly discussions: Discussions;
  readonly tags: Tags | undefined;
  readonly language: () => Language;
}

/** Finds what the viewer may see. */
export class SearchService implements Search {
  readonly #services: SearchServices;

  constructor(services: SearchServices) {
    this.#services = services;
  }

  search(request: SearchRequest, viewer: Viewer): Promise<Page<SearchResult>> {
    if (request.q.trim() === '' || request.q.length > LONGEST)
      throw new InvalidInput([{ field: 'q', message: `must have 1 to ${LONGEST} characters` }]);
    const query = readQuery(request.q);
    return request.type === 'users' ? this.#members(query, request) : this.#posts(query, request, viewer);
  }

  async #posts(
    query: Query,
    { type, limit, offset = 0, cursor }: SearchRequest,
    viewer: Viewer,
  ): Promise<Page<SearchResult>> {
    const after = cursor === undefined ? undefined : readCursor(cursor);
    const conditions = await conditionsOf(query, this.#services, viewer);
    if (!conditions) return { items: [], hasMore: false, nextCursor: undefined };
    const once = type === 'discussions';
    const matching = { language: this.#services.language(), text: query.text, conditions, once };
    const rows = await this.#bounded(async (begun, newest) => {
      const ids = await this.#candidates(
        matching,
        begun,
        query.before && query.before < newest ? query.before : newest,
      );
      return ids.length === 0 ? [] : this.#services.data.all(rankedPage(matching, ids, { limit, offset, after }));
    });
    const found = rows.slice(0, limit);
    const hasMore = rows.length > limit;
    const last = found.at(-1);
    const records = await this.#services.discussions.records(
      found.map((row) => row.discussion_id),
      viewer,
    );
    const items = once ? discussionResults(found, records) : await postResults(found, records, this.#services);
    return { items, hasMore, nextCursor: hasMore && last ? encodeCursor([last.score, last.id]) : undefined };
  }

  /** Further and further back, until there are enough. */
  async #candidates(matching: Matching, begun: number, newest: Date): Promise<readonly string[]> {
    for (const span of matching.text === '' ? [undefined] : spansBefore(newest)) {
      if (performance.now() - begun > PATIENCE) throw tooSlow();
      const row = await this.#services.data.one(newestMatches(matching, span));
      if (span === undefined || row!.ids.length >= RANKED) return row!.ids;
    }
    return [];
  }

  async #members({ text }: Query, { limit, offset = 0, cursor }: SearchRequest): Promise<Page<SearchResult>> {
    const start = (cursor === undefined ? 0 : decodePosition(cursor)) + offset;
    const name = text.replaceAll('"', '').trim();
    const accounts =
      name === '' ? [] : await this.#services.accounts.searchNames({ text: name, limit: limit + 1, offset: start });
    const items = accounts
      .slice(0, limit)
      .map((account) => memberResult(account, name, this.#services.environment.baseUrl));
    const hasMore = accounts.length > limit;
    return { items, hasMore, nextCursor: hasMore ? encodeCursor([start + limit]) : undefined };
  }

  /**
   * Each statement is cut off by the server after two seconds. The embedded database cannot be interrupted: it stops
   * between two statements.
   */
  async #bounded(work: (begun: number, newest: Date) => Promise<readonly FoundRow[]>): Promise<readonly FoundRow[]> {
    const { data } = this.#services;
    try {
      return await data.transaction(async () => {
        // Planned for its very words, and by the indexes: how many posts have a word is not known well enough to read
        // all of them instead.
        await data.all(sql`select set_config('statement_timeout', ${String(PATIENCE)}, true), set_config('plan_cache_mode', 'force_custom_plan', true),
          set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`);
        const row = await data.one(sql<{ newest: Date | null }>`select max(created_at) as newest from search_post`);
        return row?.newest ? work(performance.now(), row.newest) : [];
      });
    } catch (error) {
      throw (error as { code?: unknown }).code === CUT_OFF ? tooSlow(error) : error;
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
