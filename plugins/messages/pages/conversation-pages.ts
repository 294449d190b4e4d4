import { notFound, Type } from 'parley-forum';
import { isGuest, type Member } from 'parley-forum/plugins/access';
import { sendMessages, type MessageRecord } from 'parley-forum/plugins/messages';
import {
  draftOf,
  pages,
  phrase,
  previewOf,
  redirect,
  SafeHtml,
  textOf,
  view,
  type FormDraft,
  type Retry,
  type View,
} from 'parley-forum/plugins/web';
import type { Conversation, MessageRequest } from '../conversation-store.ts';
import { conversationRecords, messageRecords, pathOf } from '../records.ts';
import { replyKey } from '../draft-keys.ts';
import { editPath, initialDraft, LIST, othersOf, removePath, writingField, type PageDeps } from './shared.ts';

/** Number of messages on a page. */
const PAGE = 20;
const Place = Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 }));
const Text = Type.Optional(Type.String());

/** Which messages to show: those before a number, after one, between two, around one, or the newest. */
interface Part {
  readonly around?: number | undefined;
  readonly before?: number | undefined;
  readonly after?: number | undefined;
}

/** /messages/…: the messages of a conversation, and the actions of its participants. */
export function conversationPages(deps: PageDeps): void {
  const { plugin, access, conversations, drafts, store, markdown } = deps;
  const load = ({ actor, params }: Pick<Retry, 'actor' | 'params'>) => conversations.find(params['id'] ?? '', actor);

  const messagesOf = async (conversation: Conversation, { before = Infinity, after }: Part) => {
    const request: MessageRequest =
      after === undefined
        ? { order: 'desc', limit: PAGE, beyond: before === Infinity ? undefined : before }
        : { order: 'asc', limit: Math.max(0, Math.min(PAGE, before - after - 1)), beyond: after };
    const { items } = await store.messages(conversation.id, request);
    return messageRecords(
      deps,
      items.toSorted((one, other) => one.number - other.number),
    );
  };
  /** A page of messages with the requested one in the middle; with fewer before it if those are long. */
  const messagesAround = async (conversation: Conversation, asked: number) => {
    const number = Math.min(asked, conversation.lastNumber);
    const found = await messagesOf(conversation, {
      after: Math.max(0, Math.min(number - PAGE / 2, conversation.lastNumber - PAGE)),
    });
    return found.at(-1)!.number < number ? messagesOf(conversation, { after: number - 1 }) : found;
  };
  /** Adds the actions that its author may take. */
  const modelOf = (message: MessageRecord, viewer: Member, write: boolean): object => {
    const own = !message.is_deleted && message.author?.id === viewer.id;
    return {
      ...message,
      html: new SafeHtml(message.html),
      actions: {
        edit: own && write && editPath(message.id),
        remove: own && access.allows(viewer, sendMessages) && removePath(message.id),
      },
    };
  };

  /**
   * Marks messages up to the last one on a page as read. The page is still shown if nothing can be written to
   * the database at the moment.
   */
  const markRead = (conversation: Conversation, viewer: Member, number: number): Promise<void> =>
    conversations
      .read(conversation, viewer, number)
      .catch((error: unknown) => plugin.log.warn({ error }, 'the messages on a page could not be marked as read'));

  const page = async (
    conversation: Conversation,
    viewer: Member,
    draft: FormDraft = { values: {} },
    part: Part = {},
  ): Promise<View> => {
    const messages = await (part.around === undefined
      ? messagesOf(conversation, part)
      : messagesAround(conversation, part.around));
    const [first, last] = [messages.at(0)?.number ?? 1, messages.at(-1)?.number ?? part.after ?? 0];
    if (messages.length > 0) await markRead(conversation, viewer, last);
    const [record] = await conversationRecords(deps, [conversation]);
    const others = othersOf(record!.participants, viewer);
    const path = pathOf(conversation.id);
    const write = access.allows(viewer, sendMessages) && others.length > 0;
    const model = {
      conversation: record,
      others,
      path,
      messages: messages.map((message) => modelOf(message, viewer, write)),
      last,
      earlier: first > 1 && `${path}?before=${first}`,
      later: last < conversation.lastNumber && `${path}?after=${last}`,
      alone: others.length === 0,
      message: draft.message,
      problems: draft.problems,
      composer: write && writingField(draft, { key: replyKey(conversation.id), rows: 6 }),
    };
    const title = conversation.subject === '' ? phrase('messages:untitled') : conversation.subject;
    return view('@messages/conversation', { name: 'conversation', title, noindex: true }, model);
  };

  plugin.route(pages, {
    method: 'get',
    path: `${LIST}/:id`,
    can: 'member',
    load,
    query: Type.Object({ around: Place, before: Place, after: Place, draft: Text }),
  })(async ({ actor, target, query }) => {
    const draft = await initialDraft(drafts, {}, { key: replyKey(target.id), viewer: actor, query });
    return page(target, actor, draft, query);
  });

  plugin.route(pages, {
    method: 'post',
    path: `${LIST}/:id`,
    can: sendMessages,
    load,
    body: Type.Object({ content: Text, preview: Text }),
    options: {
      longText: true,
      rerender: async (retry) => {
        const conversation = await load(retry);
        if (!conversation || isGuest(retry.actor)) throw notFound();
        return page(conversation, retry.actor, draftOf(retry));
      },
    },
  })(async ({ actor, target, body }) => {
    if (body.preview !== undefined) return page(target, actor, await previewOf(markdown, body));
    const { number } = await conversations.reply(actor, target, textOf(body.content));
    return redirect(`${pathOf(target.id)}#message-${number}`);
  });

  plugin.route(pages, {
    method: 'post',
    path: `${LIST}/:id/mute`,
    can: 'member',
    load,
    body: Type.Object({ muted: Type.Boolean() }),
  })(async ({ actor, target, body: { muted } }) => {
    await conversations.mute(target, actor, muted);
    return redirect(pathOf(target.id), { notice: phrase(muted ? 'messages:muted' : 'messages:unmuted') });
  });

  plugin.route(pages, { method: 'get', path: `${LIST}/:id/leave`, can: 'member', load })(({ target }) => {
    const path = pathOf(target.id);
    return view(
      '@messages/leave',
      { name: 'conversation', title: phrase('messages:leave.title'), noindex: true },
      { subject: target.subject, path, action: `${path}/leave` },
    );
  });

  plugin.route(pages, { method: 'post', path: `${LIST}/:id/leave`, can: 'member', load })(async ({ actor, target }) => {
    await conversations.leave(target, actor);
    return redirect(LIST, { notice: phrase('messages:left') });
  });
}
