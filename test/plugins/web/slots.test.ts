import { globSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { definePlugin } from 'parley-forum';
import { fill, html, slotFillings, type Slot } from 'parley-forum/plugins/web';
import { install, useForum, type Name } from '../discussions/forum.ts';

/** Where each slot is found: on which page, by which viewer, and with which context. */
const forum = useForum({ 'pro.enabled': true });
let discussion: { readonly id: string; readonly number: number; readonly postId: string };
let reportId: string;
let categoryId: string;
let tagId: string;
let message: { readonly id: string; readonly conversation_id: string };

const slots: readonly Slot<any>[] = (
  await Promise.all(globSync(join(import.meta.dirname, '../../../plugins/*/api.ts')).map((path) => import(path)))
).flatMap((contract) => Object.values(contract).filter(isSlot));

function isSlot(value: unknown): value is Slot<any> {
  return typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'slot';
}

/** Marks each slot with its id, and the id of its context. */
const marks = definePlugin({
  id: 'marks',
  setup(_services, plugin) {
    for (const slot of slots)
      plugin.extend(
        slotFillings,
        fill(slot, (contexts) =>
          contexts.map((context) => html`<link data-slot="${slot.id}" data-of="${idOf(context)}" />`),
        ),
      );
  },
});
const idOf = ({ id, status, writes, category }: any): unknown => id ?? status ?? writes ?? category?.id ?? '';

beforeAll(async () => {
  await install(forum.app, marks);
  discussion = await forum.start('ada', 'Harbour lights');
  categoryId = (await forum.guest.get('/api/categories/general')).body.category.id;
  const body = { title: 'Masts', content: 'x', category_id: 'general', tags: ['mast'] };
  await forum.as.ada.post('/api/discussions', body);
  tagId = (await forum.guest.get('/api/tags/mast')).body.tag.id;
  reportId = (await forum.as.bob.post('/api/reports', { post_id: discussion.postId, reason: 'spam' })).body.report.id;
  const between = { to: ['bob'], subject: 'Masts', content: 'x' };
  ({ message } = (await forum.as.ada.post('/api/conversations', between)).body);
});

const address = (): string => `/d/${discussion.number}-harbour-lights`;
const ofDiscussion = (): string => discussion.id;
const ofCategory = (): string => categoryId;
const ofTag = (): string => tagId;
const ofPost = (): string => discussion.postId;
const ofAda = (): string => forum.ids.ada;
const ofMessage = (): string => message.id;
const ofReport = (): string => reportId;
const onReport = (): string => `/mod/reports/${reportId}`;
const onEveryPage = ['bob', '/'] as const;

const FOUND: Readonly<Record<string, readonly [as: Name | 'guest', page: string | (() => string), of?: () => string]>> =
  {
    'head.end': onEveryPage,
    'body.start': onEveryPage,
    'header.start': onEveryPage,
    'header.search': onEveryPage,
    'header.end': onEveryPage,
    'nav.main.end': onEveryPage,
    'sidebar.end': onEveryPage,
    'main.start': onEveryPage,
    'footer.start': onEveryPage,
    'footer.end': onEveryPage,
    'error.help': ['guest', '/nowhere', () => '404'],
    'rail.home': ['guest', '/'],
    'home.banner': ['guest', '/'],
    'list.tab': ['bob', '/'],
    'list.toolbar': ['guest', '/'],
    'discussion-card.badges': ['guest', '/', ofDiscussion],
    'discussion-card.title': ['guest', '/', ofDiscussion],
    'discussion-card.meta': ['guest', '/c/general', ofDiscussion],
    'discussion-card.end': ['guest', '/u/ada', ofDiscussion],
    'category.actions': ['guest', '/c/general', ofCategory],
    'list.actions': ['guest', '/t/mast', ofTag],
    'rail.category': ['guest', '/c/general', ofCategory],
    'discussion.head.badges': ['guest', address, ofDiscussion],
    'discussion.head.after-title': ['guest', address, ofDiscussion],
    'discussion.head.actions': ['bob', address, ofDiscussion],
    'discussion.before-posts': ['guest', address, ofDiscussion],
    'discussion.after-posts': ['guest', address, ofDiscussion],
    'rail.discussion': ['guest', address, ofDiscussion],
    'post.before': ['guest', address, ofPost],
    'post.badges': ['guest', address, ofPost],
    'post.body.after': ['guest', address, ofPost],
    'post.footer.end': ['guest', address, ofPost],
    'post.actions': ['bob', address, ofPost],
    'post.menu': ['bob', () => `/p/${discussion.postId}/menu`, ofPost],
    'text.before': ['bob', () => `/messages/${message.conversation_id}`, ofMessage],
    'message.actions': ['bob', () => `/messages/${message.conversation_id}`, ofMessage],
    'composer.completion': ['bob', '/new', () => 'discussion'],
    'composer.tools': ['bob', '/new', () => 'discussion'],
    'composer.hints': ['bob', '/new', () => 'discussion'],
    'composer.start': ['bob', '/new', () => 'discussion'],
    'composer.after-title': ['bob', '/new', () => 'discussion'],
    'composer.fields': ['bob', '/new', () => 'discussion'],
    'composer.end': ['bob', '/new', () => 'discussion'],
    'profile.header': ['guest', '/u/ada', ofAda],
    'profile.about': ['guest', '/u/ada', ofAda],
    'user-card.actions': ['guest', '/u/ada/card', ofAda],
    'rail.profile': ['guest', '/u/ada', ofAda],
    'auth.login.before': ['guest', '/login'],
    'auth.login.after': ['guest', '/login'],
    'auth.register.fields': ['guest', '/register'],
    'auth.register.before': ['guest', '/register'],
    'auth.confirm.after': ['bob', '/login/confirm'],
    'search.filters': ['guest', '/search'],
    'settings.profile.end': ['bob', '/settings/profile'],
    'settings.security.email': ['bob', '/settings/security'],
    'settings.security.end': ['bob', '/settings/security'],
    'settings.notifications.end': ['bob', '/settings/notifications'],
    'settings.privacy.end': ['bob', '/settings/privacy'],
    'settings.feeds.end': ['bob', '/settings/feeds'],
    'settings.uploads.end': ['bob', '/settings/uploads'],
    'admin.dashboard': ['root', '/admin', () => ''],
    'admin.member': ['root', '/admin/users', ofAda],
    'admin.category.fields': ['root', '/admin/categories'],
    'moderation.member': ['mia', '/mod/members/ada', ofAda],
    'report.meta': ['mia', '/mod/reports', ofReport],
    'report.actions': ['mia', onReport, ofReport],
    'queue.author-facts': ['mia', '/mod/reports', ofAda],
    'queue.author': ['mia', '/mod/reports', ofAda],
  };
/** Slots of a partial that only themes and plugins use on their pages. */
const IN_PARTIALS = ['user-card'];

test('the table locates every slot', () => {
  expect([...Object.keys(FOUND), ...IN_PARTIALS].toSorted()).toEqual(slots.map(({ id }) => id).toSorted());
});

test.each(Object.entries(FOUND))('%s is filled with its context', async (id, [as, page, of = () => '']) => {
  const viewer = as === 'guest' ? forum.guest : forum.as[as];
  const { text } = await viewer.get(typeof page === 'string' ? page : page());
  expect(text).toContain(`<link data-slot="${id}" data-of="${of()}"`);
});
