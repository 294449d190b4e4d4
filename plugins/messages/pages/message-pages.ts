import { notFound, Type } from 'parley-forum';
import { sendMessages } from 'parley-forum/plugins/messages';
import {
  draftOf,
  pages,
  phrase,
  previewOf,
  redirect,
  textOf,
  view,
  type FormDraft,
  type Retry,
  type View,
} from 'parley-forum/plugins/web';
import { versionOf } from '../conversation-service.ts';
import type { Message } from '../conversation-store.ts';
import { editKey } from '../draft-keys.ts';
import { ownMessages } from '../message-routes.ts';
import { pathOf } from '../records.ts';
import { editPath, initialDraft, removePath, writingField, type PageDeps } from './shared.ts';

const Text = Type.Optional(Type.String());
/** Characters of a message shown before it is removed. */
const EXCERPT = 200;

/** Path of a message in its conversation, together with the messages before and after it. */
const placeOf = ({ conversationId, number }: Message): string =>
  `${pathOf(conversationId)}?around=${number}#message-${number}`;

/** /messages/edit/… and /messages/remove/…: changes by a member to their own messages. */
export function messagePages(deps: PageDeps): void {
  const { plugin, conversations, drafts, store, markdown } = deps;
  const { load, authorize } = ownMessages(store);
  const own = { can: sendMessages, load, authorize } as const;
  const edit = { ...own, path: editPath(':id') } as const;
  const remove = { ...own, path: removePath(':id') } as const;

  const editView = (message: Message, draft: FormDraft): View => {
    const back = placeOf(message);
    const model = {
      number: message.number,
      back,
      action: editPath(message.id),
      seen: textOf(draft.values['seen']) || versionOf(message),
      message: draft.message,
      problems: draft.problems,
      composer: writingField(draft, { key: editKey(message.id), cancel: back, rows: 8 }),
    };
    const title = phrase('messages:edit.page');
    return view('@messages/edit', { name: 'message', title, noindex: true }, model);
  };

  plugin.route(pages, { ...edit, method: 'get', query: Type.Object({ draft: Text }) })(
    async ({ actor, target, query }) => {
      const asked = { key: editKey(target.id), viewer: actor, query };
      return editView(target, await initialDraft(drafts, { content: target.content }, asked));
    },
  );

  plugin.route(pages, {
    ...edit,
    method: 'post',
    body: Type.Object({ content: Text, preview: Text, seen: Text }),
    options: {
      longText: true,
      rerender: async (retry: Retry) => {
        const message = await load(retry);
        if (!message || !authorize({ actor: retry.actor, target: message })) throw notFound();
        const draft = draftOf(retry);
        // Once told about a concurrent change, the user may overwrite it.
        const { seen: _seen, ...values } = draft.values;
        return editView(message, retry.status === 409 ? { ...draft, values } : draft);
      },
    },
  })(async ({ actor, target, body }) => {
    if (body.preview !== undefined) return editView(target, await previewOf(markdown, body));
    await conversations.edit(actor, target, textOf(body.content), body.seen);
    return redirect(placeOf(target), { notice: phrase('messages:edited') });
  });

  plugin.route(pages, { ...remove, method: 'get' })(({ target }) =>
    view(
      '@messages/remove',
      { name: 'conversation', title: phrase('messages:remove.title'), noindex: true },
      {
        excerpt: markdown.excerpt(target.content, EXCERPT),
        action: removePath(target.id),
        back: placeOf(target),
      },
    ),
  );

  plugin.route(pages, { ...remove, method: 'post' })(async ({ actor, target }) => {
    await conversations.remove(actor, target);
    return redirect(placeOf(target), { notice: phrase('messages:removed') });
  });
}
