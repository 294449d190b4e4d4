import { createId, sql, type Clock, type Data, type RawBuilder } from 'parley-forum';
import { badCursor, decodeCursor, decodeMoment, isId, pageOfRows, type Page } from 'parley-forum/plugins/api';

/** A conversation as seen by one of its participants. */
export interface Conversation {
  readonly id: string;
  readonly subject: string;
  readonly createdAt: Date;
  /** Number of the last message. */
  readonly lastNumber: number;
  readonly lastAt: Date;
  readonly lastAuthorId: string | null;
  /** The beginning of the last message. */
  readonly lastContent: string;
  /** Number of the last message that the participant has read. */
  readonly readNumber: number;
  readonly isMuted: boolean;
  readonly participantIds: readonly string[];
}
/** A message as stored. */
export interface Message {
  readonly id: string;
  readonly conversationId: string;
  readonly number: number;
  readonly authorId: string;
  readonly content: string;
  readonly html: string;
  /** The rules for images that were in effect when the HTML was checked. */
  readonly imageRule: string;
  readonly createdAt: Date;
  readonly editedAt: Date | null;
}
export type MessageText = Pick<Message, 'content' | 'html' | 'imageRule'>;
export interface ListRequest {
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
  readonly unread?: boolean | undefined;
}
/** A page of the messages of a conversation, in ascending or descending order. */
export interface MessageRequest {
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  readonly offset?: number | undefined;
  /** Only messages after the one with this number, in that order. */
  readonly beyond?: number | undefined;
}

/** Characters of the last message read for lists, which is more than an excerpt needs. */
const BEGINNING = 2_500;
/** Maximum number of bytes of the messages in one response; only the first one may exceed it. */
const MAX_BYTES = 512 * 1024;

const UNREAD = sql`p.read_number < p.last_number`;
const CONVERSATION = sql<Conversation>`c.id, c.subject, c.created_at as "createdAt", p.last_number as "lastNumber",
  p.last_at as "lastAt", p.read_number as "readNumber", p.is_muted as "isMuted", m.author_id as "lastAuthorId",
  coalesce(left(m.content, ${sql.lit(BEGINNING)}), '') as "lastContent",
  array(select o.user_id from conversation_participant o where o.conversation_id = c.id order by o.user_id)
    as "participantIds"`;
const FROM = sql`conversation_participant p join conversation c on c.id = p.conversation_id
  left join conversation_message m on m.conversation_id = c.id and m.number = p.last_number`;
const MESSAGE = sql<Message>`id, conversation_id as "conversationId", number, author_id as "authorId", content, html,
  image_rule as "imageRule", created_at as "createdAt", edited_at as "editedAt"`;

/**
 * The tables of conversations. Writing to, leaving, or erasing in a conversation locks its row first, so that messages
 * are numbered without gaps, and nobody leaves while a message is written to them.
 */
export class ConversationStore {
  readonly #data: Data;
  readonly #clock: Clock;

  constructor({ data, clock }: { readonly data: Data; readonly clock: Clock }) {
    this.#data = data;
    this.#clock = clock;
  }

  /** Undefined if the user is not in the conversation. */
  find(id: string, userId: string): Promise<Conversation | undefined> {
    if (!isId(id)) return Promise.resolve(undefined);
    return this.#data.one(
      sql<Conversation>`select ${CONVERSATION} from ${FROM} where p.conversation_id = ${id} and p.user_id = ${userId}`,
    );
  }

  /** A member's conversations, those with the newest messages first. */
  async list(userId: string, { limit, offset = 0, cursor, unread = false }: ListRequest): Promise<Page<Conversation>> {
    const rows = await this.#data.all(sql<Conversation>`select ${CONVERSATION} from ${FROM}
      where p.user_id = ${userId}${unread ? sql` and ${UNREAD}` : sql``}${afterRow(cursor)}
      order by p.last_at desc, p.conversation_id desc limit ${limit + 1} offset ${offset}`);
    return pageOfRows(rows, limit, ({ lastAt, id }) => [lastAt.getTime(), id]);
  }

  /** Number of unread conversations that are not muted, by member; members with none are missing. */
  async unread(userIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#data.all(sql<{ id: string; count: number }>`
      select p.user_id as id, count(*)::integer as count from conversation_participant p
      where p.user_id = any(${userIds}::uuid[]) and ${UNREAD} and not p.is_muted group by p.user_id order by p.user_id`);
    return new Map(rows.map(({ id, count }) => [id, count]));
  }

  /** As many messages as fit into the response size limit. */
  async messages(
    conversationId: string,
    { order, limit, offset = 0, beyond }: MessageRequest,
  ): Promise<{ readonly items: readonly Message[]; readonly hasMore: boolean }> {
    const by = sql`number ${sql.raw(order)}`;
    const rest = beyond === undefined ? sql`` : sql` and number ${sql.raw(order === 'asc' ? '>' : '<')} ${beyond}`;
    const rows = await this.#data.all(sql<Message & { readonly found: number }>`
      select ${MESSAGE}, found::integer from (
        select *, row_number() over w as place, sum(octet_length(html) + octet_length(content)) over w as reached,
          count(*) over () as found from (
          select * from conversation_message where conversation_id = ${conversationId}${rest}
          order by ${by} limit ${limit + 1} offset ${offset}
        ) asked window w as (order by ${by})
      ) weighed where place <= ${limit} and (place = 1 or reached <= ${MAX_BYTES}) order by place`);
    const items = rows.map(({ found: _found, ...message }) => message);
    return { items, hasMore: rows.length > 0 && rows.length < rows[0]!.found };
  }

  /** Undefined if the user is not in its conversation. */
  message(id: string, userId: string): Promise<Message | undefined> {
    if (!isId(id)) return Promise.resolve(undefined);
    return this.#data.one(sql<Message>`select ${MESSAGE}
      from conversation_participant join conversation_message using (conversation_id)
      where user_id = ${userId} and id = ${id}`);
  }

  /**
   * Must be called in a transaction. Creates a conversation with its first message, which counts as read by its author.
   */
  async start(
    starterId: string,
    recipientIds: readonly string[],
    subject: string,
    text: MessageText,
  ): Promise<Message> {
    const now = this.#now;
    const id = createId(now.getTime());
    await this.#data.all(sql`insert into conversation (id, subject, starter_id, created_at)
      values (${id}, ${subject}, ${starterId}, ${now})`);
    await this.#data.all(sql`insert into conversation_participant
        (conversation_id, user_id, last_number, last_at, read_number)
      select ${id}::uuid, user_id, 0, ${now}::timestamptz, 0
      from unnest(${[starterId, ...recipientIds]}::uuid[]) as given (user_id) order by user_id`);
    return this.add(id, starterId, text);
  }

  /**
   * Must be called in a transaction, until the end of which nobody else can write to the conversation or leave it.
   * False if it no longer exists.
   */
  async lock(id: string): Promise<boolean> {
    // A separate statement, so that later ones see what others did before this one got the lock.
    return (await this.#data.one(sql`select id from conversation where id = ${id} for update`)) !== undefined;
  }

  /** Ids of the participants, in order. */
  async participants(conversationId: string): Promise<readonly string[]> {
    const rows = await this.#data.all(sql<{ id: string }>`select user_id as id from conversation_participant
      where conversation_id = ${conversationId} order by user_id`);
    return rows.map(({ id }) => id);
  }

  /**
   * Must be called in the transaction that holds the lock or created the conversation. If the author had read
   * everything before, their own message counts as read too.
   */
  async add(conversationId: string, authorId: string, { content, html, imageRule }: MessageText): Promise<Message> {
    const now = this.#now;
    const message = await this.#data.one(sql<Message>`
      insert into conversation_message
        (id, conversation_id, number, author_id, content, html, image_rule, created_at)
      select ${createId(now.getTime())}::uuid, ${conversationId}::uuid, coalesce(max(number), 0) + 1,
        ${authorId}::uuid, ${content}, ${html}, ${imageRule}, ${now}::timestamptz
      from conversation_message where conversation_id = ${conversationId} returning ${MESSAGE}`);
    const { number } = message!;
    await this.#data.all(sql`update conversation_participant set last_number = ${number}, last_at = ${now},
        read_number = case when user_id = ${authorId} and read_number = ${number - 1}::integer then ${number}::integer
          else read_number end
      where conversation_id = ${conversationId}`);
    return message!;
  }

  /** Must be called in the transaction that holds the lock. */
  async edit(id: string, { content, html, imageRule }: MessageText): Promise<Message> {
    const message = await this.#data.one(sql<Message>`update conversation_message
      set content = ${content}, html = ${html}, image_rule = ${imageRule}, edited_at = ${this.#now}
      where id = ${id} returning ${MESSAGE}`);
    return message!;
  }

  /** Must be called in the transaction that holds the lock. The message keeps its number and time. */
  async removeText(id: string): Promise<void> {
    await this.#data.all(sql`update conversation_message set content = '', html = '' where id = ${id}`);
  }

  /** Marks messages up to a number as read; true if any of them was unread. */
  async read(conversationId: string, userId: string, number: number): Promise<boolean> {
    const row = await this.#data.one(sql`update conversation_participant set read_number = least(${number}, last_number)
      where conversation_id = ${conversationId} and user_id = ${userId}
        and read_number < least(${number}, last_number) returning user_id`);
    return row !== undefined;
  }

  async mute(conversationId: string, userId: string, muted: boolean): Promise<void> {
    await this.#data.all(sql`update conversation_participant set is_muted = ${muted}
      where conversation_id = ${conversationId} and user_id = ${userId}`);
  }

  /** Must be called in the transaction that holds the lock. The conversation is deleted with its last participant. */
  async leave(conversationId: string, userId: string): Promise<void> {
    await this.#data.all(sql`delete from conversation_participant
      where conversation_id = ${conversationId} and user_id = ${userId}`);
    await this.#data.all(sql`delete from conversation c where c.id = ${conversationId}
      and not exists (select from conversation_participant p where p.conversation_id = c.id)`);
  }

  /**
   * Participants who have not read a message, did not write it, and have not muted the conversation. Must be called in
   * the transaction that holds the lock; none of them can mark it as read until that ends.
   */
  async awaiting({ conversationId, number, authorId }: Pick<Message, 'conversationId' | 'number' | 'authorId'>) {
    const rows = await this.#data.all(sql<{ id: string }>`select user_id as id from conversation_participant
      where conversation_id = ${conversationId} and user_id <> ${authorId} and read_number < ${number}
        and not is_muted order by user_id for share`);
    return rows.map(({ id }) => id);
  }

  get #now(): Date {
    return new Date(this.#clock.now());
  }
}

function afterRow(cursor: string | undefined): RawBuilder<unknown> {
  if (cursor === undefined) return sql``;
  const [time, id] = decodeCursor(cursor, 2);
  if (!isId(String(id))) throw badCursor();
  return sql` and (p.last_at, p.conversation_id) < (${decodeMoment(time)}::timestamptz, ${String(id)}::uuid)`;
}
