import { setImmediate as turn } from 'node:timers/promises';
import { Type } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { pagerOf, pages, phrase, view } from 'parley-forum/plugins/web';
import type { DiffRow } from './diff.ts';
import { postPath } from '../identifiers.ts';
import type { FoundPost } from '../reading/reader.ts';
import type { Change } from './revisions.ts';
import type { PageDeps } from '../page-parts.ts';

/** Number of changes on one page; each is compared on every request. */
const SHOWN = 5;
const Query = Type.Object({ page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })) });

/** Marks the rows that are changes, for the template. */
const rowModel = (row: DiffRow): object => ('before' in row || 'after' in row ? { ...row, changed: true } : row);

/** /p/{id}/history: earlier versions of a post. */
export function historyPages({ plugin, reader, categories, rights, revisions }: PageDeps): void {
  const load = async ({
    actor,
    params,
  }: {
    readonly actor: Viewer;
    readonly params: Readonly<Record<string, string>>;
  }): Promise<FoundPost | undefined> => {
    const post = await reader.findPost(params['id'] ?? '', actor);
    return post && rights.canReadHistory(post.discussion, post.row.author_id, actor) ? post : undefined;
  };

  const shown = async ({ content, title, category, ...change }: Change, viewer: Viewer): Promise<object> => {
    // Imported here with the diff library, because the page is rarely opened.
    const { diffText } = await import('./diff.ts');
    const nameOf = (id: string) => categories.find(id, viewer)?.name;
    const difference = content && diffText(...content);
    return {
      ...change,
      title: title && { before: title[0], after: title[1] },
      category: category && { before: nameOf(category[0]), after: nameOf(category[1]) },
      content: difference?.rows.map(rowModel),
      cut: difference?.cut,
    };
  };

  plugin.route(pages, {
    method: 'get',
    path: '/p/:id/history',
    can: 'public',
    load,
    query: Query,
  })(async ({ actor, target: { row, discussion }, query: { page = 1 } }) => {
    const { items, hasMore } = await revisions.changes(row.id, { limit: SHOWN, offset: (page - 1) * SHOWN });
    const changes: object[] = [];
    for (const change of items) {
      changes.push(await shown(change, actor));
      // Let other requests run between two comparisons.
      await turn();
    }
    const model = {
      number: row.number,
      discussion,
      back: postPath(discussion.number, row.number),
      changes,
      pager: pagerOf(page, hasMore ? page + 1 : page, `/p/${row.id}/history`),
    };
    return view(
      '@discussions/history',
      { name: 'history', title: phrase('discussions:history.of', { number: row.number }), noindex: true },
      model,
    );
  });
}
