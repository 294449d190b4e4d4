import { HttpError, InvalidInput, notFound, type Data, type PluginHandle } from 'parley-forum';
import { isGuest, limitFor, memberKey, type Member, type Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { Page } from 'parley-forum/plugins/api';
import { assertAllowed, type Bucket, type Limits } from 'parley-forum/plugins/limits';
import type { Markdown } from 'parley-forum/plugins/markdown';
import { conversationsChanged, messageSent } from 'parley-forum/plugins/messages';
import type { Drafts } from 'parley-forum/ports/drafts';
import type { Notifications } from 'parley-forum/ports/notifications';
import type { Conversation, ConversationStore, ListRequest, Message, MessageText } from './conversation-store.ts';
import { checkedTexts } from './message-texts.ts';
import { editKey, newKeys, replyKey } from './draft-keys.ts';
import type { RecipientRules } from './recipient-rules.ts';

/** Settings of this plugin. */
export interface MessageSettings {
  readonly 'messages.most_participants': number;
  readonly 'messages.longest': number;
  /** Maximum number of messages per member in ten minutes. */
  readonly 'messages.rate_limit': number;
  /** Maximum number of conversations that a member may start in an hour. */
  readonly 'messages.conversation_rate_limit': number;
}
export interface ConversationDeps {
  readonly plugin: PluginHandle<MessageSettings>;
  readonly data: Data;
  readonly accounts: Pick<Accounts, 'idsByUsername'>;
  readonly drafts: Pick<Drafts, 'sent'> | undefined;
  readonly limits: Limits;
  readonly markdown: Markdown;
  readonly notifications: Pick<Notifications, 'markRead'> | undefined;
  readonly rules: RecipientRules;
  readonly store: ConversationStore;
}
export interface NewConversation {
  /** Usernames, with or without the `@`. */
  readonly to: readonly string[];
  readonly subject: string;
  readonly content: string;
}

const MESSAGES: Bucket = { name: 'messages', window: 600 };
const CONVERSATIONS: Bucket = { name: 'conversations', window: 3_600 };
/** The type of the notifications, and the group that combines those of one conversation. */
export const TYPE = 'message';
export const groupOf = (conversationId: string): string => `conversation:${conversationId}`;

/** Private conversations, each accessible to its participants only; `viewer` is always a member here. */
export class ConversationService {
  readonly #deps: ConversationDeps;

  constructor(deps: ConversationDeps) {
    this.#deps = deps;
  }

  /** Undefined if the viewer is not in the conversation, regardless of their other permissions. */
  find(id: string, viewer: Viewer): Promise<Conversation | undefined> {
    return isGuest(viewer) ? Promise.resolve(undefined) : this.#deps.store.find(id, viewer.id);
  }

  list(viewer: Member, request: ListRequest): Promise<Page<Conversation>> {
    return this.#deps.store.list(viewer.id, request);
  }

  async unread(viewer: Member): Promise<number> {
    return (await this.#deps.store.unread([viewer.id])).get(viewer.id) ?? 0;
  }

  /** Throws 400 naming the invalid field, 429 above the rate limit. */
  async start(viewer: Member, { to, subject, content }: NewConversation): Promise<Message> {
    const { data, drafts, store } = this.#deps;
    const checked = checkedTexts({ subject, content }, this.#longest);
    const recipientIds = await this.#recipients(viewer, to);
    const text = await this.#rendered(checked.content);
    await this.#count(CONVERSATIONS, viewer);
    await this.#count(MESSAGES, viewer);
    return data.transaction(async () => {
      const message = await store.start(viewer.id, recipientIds, checked.subject, text);
      await this.#sent(message, [viewer.id, ...recipientIds]);
      await drafts?.sent(viewer.id, newKeys(to), checked.content);
      return message;
    });
  }

  /**
   * Throws 400 naming the invalid field, 403 if all other participants ignore the viewer, 404 if the viewer is no
   * longer in the conversation, 409 if nobody else is in it, 429 above the rate limit.
   */
  async reply(viewer: Member, conversation: Conversation, content: string): Promise<Message> {
    const { data, drafts, store } = this.#deps;
    const checked = checkedTexts({ content }, this.#longest);
    await this.#requireReaders(viewer, conversation.participantIds);
    const text = await this.#rendered(checked.content);
    await this.#count(MESSAGES, viewer);
    return data.transaction(async () => {
      const participants = await this.#lock(conversation.id, viewer);
      if (participants.length === 1) throw left();
      const message = await store.add(conversation.id, viewer.id, text);
      await this.#sent(message, participants);
      await drafts?.sent(viewer.id, [replyKey(conversation.id)], checked.content);
      return message;
    });
  }

  /**
   * Edits one of the viewer's own messages; `seen` is the version they edited. Throws the same errors as a reply, and
   * 409 if the text has changed since.
   */
  async edit(viewer: Member, { id, conversationId }: Message, content: string, seen?: string): Promise<Message> {
    const { data, drafts, store } = this.#deps;
    const checked = checkedTexts({ content }, this.#longest);
    await this.#requireReaders(viewer, await store.participants(conversationId));
    const text = await this.#rendered(checked.content);
    await this.#count(MESSAGES, viewer);
    return data.transaction(async () => {
      const participants = await this.#lock(conversationId, viewer);
      const before = await this.#ownMessage(id, viewer);
      await drafts?.sent(viewer.id, [editKey(id)], checked.content);
      if (before.content === checked.content) return before;
      if (seen !== undefined && seen !== versionOf(before))
        throw new HttpError(
          409,
          'This message was changed in the meantime. Save again to replace that version with yours.',
        );
      const message = await store.edit(id, text);
      await this.#changed(message, participants);
      return message;
    });
  }

  /** Permanently removes the text of one of the viewer's own messages for all participants. */
  async remove(viewer: Member, { id, conversationId }: Message): Promise<void> {
    const { data, store } = this.#deps;
    await data.transaction(async () => {
      const participants = await this.#lock(conversationId, viewer);
      const message = await this.#ownMessage(id, viewer);
      await store.removeText(id);
      await this.#changed(message, participants);
    });
  }

  /** Marks messages up to a number as read, along with their notification. */
  async read({ id, readNumber }: Conversation, viewer: Member, number: number): Promise<void> {
    if (number <= readNumber) return;
    const { data, store } = this.#deps;
    await data.transaction(async () => {
      if (await store.read(id, viewer.id, number)) await this.#settled(id, viewer);
    });
  }

  async mute({ id, isMuted }: Conversation, viewer: Member, muted: boolean): Promise<void> {
    if (muted === isMuted) return;
    const { data, plugin, store } = this.#deps;
    await data.transaction(async () => {
      await store.mute(id, viewer.id, muted);
      await plugin.emit(conversationsChanged, { userIds: [viewer.id] });
    });
  }

  async leave({ id }: Conversation, viewer: Member): Promise<void> {
    const { data, store } = this.#deps;
    await data.transaction(async () => {
      if (!(await store.lock(id))) return;
      await store.leave(id, viewer.id);
      await this.#settled(id, viewer);
    });
  }

  get #longest(): number {
    return this.#deps.plugin.settings['messages.longest'];
  }

  async #sent({ id, conversationId, number, authorId }: Message, participantIds: readonly string[]): Promise<void> {
    const { plugin } = this.#deps;
    const message = { id, conversation_id: conversationId, number, author_id: authorId };
    await plugin.emit(messageSent, { message });
    const about = { conversation_id: conversationId, number, is_new: true };
    await plugin.emit(conversationsChanged, { userIds: participantIds, message: about });
  }

  async #changed({ conversationId, number }: Message, participantIds: readonly string[]): Promise<void> {
    const about = { conversation_id: conversationId, number, is_new: false };
    await this.#deps.plugin.emit(conversationsChanged, { userIds: participantIds, message: about });
  }

  /**
   * Locks the conversation until the current transaction ends. Resolves to its participants; throws 404 unless the
   * viewer is one of them.
   */
  async #lock(conversationId: string, viewer: Member): Promise<readonly string[]> {
    const { store } = this.#deps;
    const participants = (await store.lock(conversationId)) ? await store.participants(conversationId) : [];
    if (!participants.includes(viewer.id)) throw notFound('There is no such conversation');
    return participants;
  }

  /** The current version of the message; throws 404 if it was removed in the meantime. */
  async #ownMessage(id: string, viewer: Member): Promise<Message> {
    const message = await this.#deps.store.message(id, viewer.id);
    if (!message || message.content === '') throw notFound('There is no such message');
    return message;
  }

  /** Throws 409 if the viewer is the only participant, 403 if all others ignore them. */
  async #requireReaders(viewer: Member, participantIds: readonly string[]): Promise<void> {
    const others = participantIds.filter((id) => id !== viewer.id);
    if (others.length === 0) throw left();
    if ((await this.#deps.rules.ignoring(viewer, others)).size === others.length)
      throw new HttpError(403, 'No one in this conversation accepts messages from you');
  }

  /** Clears the viewer's notification of the conversation, and updates their unread count. */
  async #settled(id: string, viewer: Member): Promise<void> {
    const { notifications, plugin } = this.#deps;
    await notifications?.markRead(viewer.id, { type: TYPE, group: groupOf(id) });
    await plugin.emit(conversationsChanged, { userIds: [viewer.id] });
  }

  async #rendered(content: string): Promise<MessageText> {
    const { markdown } = this.#deps;
    const imageRule = markdown.permitted.rule;
    return { content, html: await markdown.render(content), imageRule };
  }

  async #recipients(viewer: Member, to: readonly string[]): Promise<readonly string[]> {
    const { accounts, plugin, rules } = this.#deps;
    const wrong = (message: string): InvalidInput => new InvalidInput([{ field: 'to', message }]);
    const given = new Map(to.map((name) => name.trim().replace(/^@/, '')).map((name) => [name.toLowerCase(), name]));
    given.delete('');
    given.delete(viewer.username?.toLowerCase() ?? '');
    const most = plugin.settings['messages.most_participants'] - 1;
    if (given.size === 0) throw wrong('must name another member');
    if (given.size > most) throw wrong(`may name at most ${most} members`);
    const ids = await accounts.idsByUsername([...given.keys()]);
    const unknown = [...given].find(([key]) => !ids.has(key));
    if (unknown) throw wrong(`names an unknown member: ${unknown[1]}`);
    const refusing = await rules.refusing(viewer, [...ids.values()]);
    const closed = [...given].find(([key]) => refusing.has(ids.get(key)!));
    if (closed) throw wrong(`names a member who accepts no messages from you: ${closed[1]}`);
    return [...ids.values()];
  }

  /** Counts one use towards the viewer's rate limit; throws 429 above it. */
  async #count(bucket: Bucket, viewer: Member): Promise<void> {
    const { limits, plugin } = this.#deps;
    const rate = plugin.settings[bucket === MESSAGES ? 'messages.rate_limit' : 'messages.conversation_rate_limit'];
    const allowance = await limits.consume(bucket, memberKey(viewer.id), limitFor(viewer, rate));
    assertAllowed(allowance, (seconds) =>
      bucket === MESSAGES
        ? `You have written many messages; wait ${seconds} s before the next`
        : `You have started many conversations; wait ${seconds} s before the next`,
    );
  }
}

/** Changes whenever the message is edited. */
export const versionOf = ({ createdAt, editedAt }: Pick<Message, 'createdAt' | 'editedAt'>): string =>
  (editedAt ?? createdAt).toISOString();

const left = (): HttpError => new HttpError(409, 'No one else is in this conversation any more');
