import { HttpError, Type } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { api, IdParams } from 'parley-forum/plugins/api';
import { MessageRecord, sendMessages } from 'parley-forum/plugins/messages';
import type { Message, ConversationStore } from './conversation-store.ts';
import { messageRecords } from './records.ts';
import { Content, type RouteDeps } from './routes.ts';

interface Named {
  readonly actor: Viewer;
  readonly params: Readonly<Record<string, string>>;
}

/** Finds a message for routes; only its author may change it, unless its text was removed. */
export function ownMessages(store: Pick<ConversationStore, 'message'>) {
  const find = ({ actor, params }: Named): Promise<Message | undefined> =>
    actor.id === undefined ? Promise.resolve(undefined) : store.message(params['id'] ?? '', actor.id);
  return {
    find,
    load: async (named: Named): Promise<Message | undefined> => {
      const message = await find(named);
      return message?.content === '' ? undefined : message;
    },
    authorize: ({ actor, target }: { readonly actor: Viewer; readonly target: Message }): true => {
      if (target.authorId === actor.id) return true;
      throw new HttpError(403, 'Only the author of a message may edit or remove it');
    },
  };
}

/** /api/messages/{id}: messages in the caller's conversations. */
export function messageRoutes({ plugin, conversations, store, ...deps }: RouteDeps): void {
  const { find, load, authorize } = ownMessages(store);
  const result = Type.Object({ message: MessageRecord });
  const path = '/messages/:id';
  const answerOf = async (message: Message) => ({ message: (await messageRecords(deps, [message]))[0]! });

  plugin.route(api, {
    method: 'get',
    path,
    can: 'member',
    summary: 'A message in one of the caller’s private conversations; does not mark it as read',
    params: IdParams,
    result,
    load: find,
  })(({ target }) => answerOf(target));

  plugin.route(api, {
    method: 'put',
    path,
    can: sendMessages,
    summary:
      'Edit one of the caller’s own messages; other participants see when it was edited, but not its previous text',
    params: IdParams,
    result,
    load,
    authorize,
    options: { longText: true },
    body: Type.Object({ content: Content }),
  })(async ({ actor, target, body: { content } }) => answerOf(await conversations.edit(actor, target, content)));

  plugin.route(api, {
    method: 'delete',
    path,
    can: sendMessages,
    summary: 'Permanently remove the text of one of the caller’s own messages for all participants',
    params: IdParams,
    result: Type.Object({}),
    load,
    authorize,
  })(async ({ actor, target }) => {
    await conversations.remove(actor, target);
    return {};
  });
}
