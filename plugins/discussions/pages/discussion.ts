import { notFound, Type } from '#core';
import { isGuest, type Viewer } from '#plugins/access';
import type { DiscussionHead, DiscussionRecord } from '#plugins/discussions';
import { pagerOf, pages, redirect, view } from '#plugins/web';
import { discussionPath, numberOf } from '../identifiers.ts';
import { oneTags } from '../routes/discussions.ts';
import { composer, findByAddress, PAGE_SIZE, postModel, type PageServices } from './parts.ts';

const pageOf = (number: number): number => Math.ceil(number / PAGE_SIZE);
const address = (head: DiscussionHead, page: number): string => discussionPath(head) + (page > 1 ? `?page=${page}` : '');

/** /d/…: reading a discussion. */
export function discussionPages(services: PageServices): void {
  const { plugin, reading, records, categories, markdown } = services;
  const find = findByAddress(services);
  const keep = ({ target }: { readonly target: DiscussionHead }) => oneTags(target.id);

  plugin.route(pages, {
    method: 'get', path: '/d/:address', can: 'public', find, keep, query: Type.Object({ page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })) }),
  })(async ({ actor, params, query: { page = 1 }, target: head, req }) => {
    if (params['address'] !== `${head.number}-${head.slug}`) {
      const search = req.originalUrl.indexOf('?');
      return redirect(discussionPath(head) + (search < 0 ? '' : req.originalUrl.slice(search)), { status: 301 });
    }
    const found = await reading.discussion(head, actor);
    const category = categories.find(head.categoryId, actor);
    if (!found || !category) throw notFound();
    const { record, lastNumber } = found;
    const last = pageOf(lastNumber);
    if (page > last) throw notFound('The discussion ends before this page');
    const range = { from: (page - 1) * PAGE_SIZE + 1, to: Math.min(page * PAGE_SIZE, lastNumber), falling: false };
    const [posts, [shown]] = await Promise.all([reading.postsBetween(head, range, actor), records.categories([category], actor)]);
    const model = {
      discussion: record, last: lastNumber, category: shown, posts: posts.map((post) => postModel(post, head, services, actor)),
      pager: pagerOf(page, last, (number) => address(head, number)), tools: toolsOf(head, found.firstPostId, services, actor), ...endOf(head, services, actor),
    };
    const description = markdown.excerpt(record.content, 160);
    return view('@discussions/discussion', {
      name: 'discussion', title: head.title, description, canonical: address(head, page), current: `/c/${encodeURIComponent(category.slug)}`,
      data: schemaOf(record, description),
    }, model);
  });

  plugin.route(pages, { method: 'get', path: '/d/:address/:post', can: 'public', find })(async ({ actor, params, target: head }) => {
    const wanted = numberOf(params['post'] ?? '');
    const found = wanted === undefined ? undefined : await reading.discussion(head, actor);
    if (!found || wanted === undefined) throw notFound();
    const number = Math.min(wanted, found.lastNumber);
    const notice = number === wanted ? {} : { notice: `There is no post ${wanted}; this is the last one.` };
    return redirect(`${address(head, pageOf(number))}#post-${number}`, { status: 302, ...notice });
  });
}

/** What the foot of the page offers: a writing field, or why there is none. */
function endOf(head: DiscussionHead, { rights }: PageServices, viewer: Viewer): object {
  if (rights.reply(head, viewer)) {
    return { reply: composer({ values: {} }, { key: `reply-${head.id}`, writes: 'post', discussion: head, rows: 6 }), replyAction: `/d/${head.number}/reply` };
  }
  return { guest: isGuest(viewer), closed: head.locked ? 'locked' : 'category' };
}

/** What the viewer may do with the discussion as a whole, as links and forms. */
function toolsOf(head: DiscussionHead, firstPostId: string, { rights }: PageServices, viewer: Viewer): object | undefined {
  const { moderate } = rights.in(head.categoryId, viewer);
  if (!moderate && !rights.change(head, head.authorId, viewer)) return undefined;
  const base = `/d/${head.number}`;
  const flip = (action: string) => ({ action: `${base}/moderate`, fields: [{ name: 'action', value: action }] });
  return {
    edit: `${base}/edit`, history: `/p/${firstPostId}/history`, remove: head.deleted ? undefined : `${base}/delete`,
    ...(moderate && {
      pin: flip(head.pinned ? 'unpin' : 'pin'), pinned: head.pinned, lock: flip(head.locked ? 'unlock' : 'lock'), locked: head.locked,
      restore: head.deleted && flip('restore'),
    }),
  };
}

/** What search engines read. */
function schemaOf(record: DiscussionRecord, description: string): object {
  return {
    '@context': 'https://schema.org', '@type': 'DiscussionForumPosting', headline: record.title, text: description, url: record.url,
    datePublished: record.created_at, dateModified: record.updated_at, author: { '@type': 'Person', name: record.author.username },
    interactionStatistic: { '@type': 'InteractionCounter', interactionType: 'https://schema.org/CommentAction', userInteractionCount: record.reply_count },
  };
}
