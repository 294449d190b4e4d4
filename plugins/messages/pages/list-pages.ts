import { Type } from 'parley-forum';
import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import { MAX_SUBJECT, sendMessages } from 'parley-forum/plugins/messages';
import {
  draftOf,
  formErrors,
  navigation,
  pagerOf,
  pages,
  phrase,
  previewOf,
  redirect,
  shortcuts,
  textOf,
  view,
  type FormDraft,
  type View,
} from 'parley-forum/plugins/web';
import { conversationRecords, pathOf } from '../records.ts';
import { newKey } from '../draft-keys.ts';
import { initialDraft, LIST, NEW, othersOf, writingField, type PageDeps } from './shared.ts';

/** Number of conversations on a page, and of people named in a row. */
const [PAGE, NAMED] = [20, 3];
const Text = Type.Optional(Type.String());
const Query = Type.Object({ to: Type.Optional(Type.String({ maxLength: 100 })), draft: Text });

/** /messages, the list of a member's conversations, and /messages/new, where a conversation is started. */
export function listPages(deps: PageDeps): void {
  const { plugin, access, conversations, drafts, markdown } = deps;
  const mayWrite = (viewer: Viewer): boolean => access.allows(viewer, sendMessages);
  const count = { tags: [], load: (viewer: Viewer) => deps.unread(viewer) };
  plugin.extend(navigation, { area: 'account', label: 'messages:title', href: LIST, icon: 'mail', count }, -5);
  plugin.extend(shortcuts, {
    id: 'messages.list',
    keys: 'g p',
    label: 'messages:keys.list',
    area: 'everywhere',
    href: LIST,
    visible: (viewer) => !isGuest(viewer),
  });

  plugin.route(pages, {
    method: 'get',
    path: LIST,
    can: 'member',
    query: Type.Object({ page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })) }),
  })(async ({ actor, query: { page = 1 } }) => {
    const { items, hasMore } = await conversations.list(actor, { limit: PAGE, offset: (page - 1) * PAGE });
    const rows = (await conversationRecords(deps, items)).map((record) => {
      const others = othersOf(record.participants, actor);
      const [named, more] = [others.slice(0, NAMED), Math.max(0, others.length - NAMED)];
      return { ...record, path: pathOf(record.id), face: others[0] ?? record.last_message.author, named, more };
    });
    const model = {
      rows,
      write: mayWrite(actor),
      pager: pagerOf(page, hasMore ? page + 1 : page, LIST),
    };
    return view(
      '@messages/list',
      { name: 'messages', title: phrase('messages:title'), noindex: true, current: LIST },
      model,
    );
  });

  /** `to`: the recipient named in the URL. */
  const newView = (draft: FormDraft, to: string): View => {
    const { values } = draft;
    const model = {
      action: to === '' ? NEW : `${NEW}?${new URLSearchParams({ to })}`,
      ...formErrors(draft),
      to: textOf(values['to']),
      subject: textOf(values['subject']),
      longest: MAX_SUBJECT,
      most: plugin.settings['messages.most_participants'] - 1,
      composer: writingField(draft, {
        key: newKey(to),
        cancel: LIST,
        rows: 8,
      }),
    };
    const head = { name: 'message', title: phrase('messages:new.title'), noindex: true };
    return view('@messages/new', head, model);
  };

  plugin.route(pages, { method: 'get', path: NEW, can: sendMessages, query: Query })(async ({ actor, query }) => {
    const { to = '' } = query;
    const values = { to: to === '' ? '' : `@${to.replace(/^@/, '')} ` };
    return newView(await initialDraft(drafts, values, { key: newKey(to), viewer: actor, query }), to);
  });

  plugin.route(pages, {
    method: 'post',
    path: NEW,
    can: sendMessages,
    query: Query,
    body: Type.Object({ to: Text, subject: Text, content: Text, preview: Text }),
    options: { longText: true, rerender: (retry) => newView(draftOf(retry), textOf(retry.req.query['to'])) },
  })(async ({ actor, body, query: { to = '' } }) => {
    if (body.preview !== undefined) return newView(await previewOf(markdown, body), to);
    const { conversationId } = await conversations.start(actor, {
      to: textOf(body.to).split(/[\s,;]+/),
      subject: textOf(body.subject),
      content: textOf(body.content),
    });
    return redirect(pathOf(conversationId), { notice: phrase('messages:sent') });
  });
}
