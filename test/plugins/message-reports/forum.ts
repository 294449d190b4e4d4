import type { Answer } from 'parley-forum/testing';
import { expectStatus, useForum, type Forum, type Name } from '../discussions/forum.ts';

/** Helpers that the tests of these reports share. */
export interface MessageReportsForum {
  readonly forum: Forum;
  /** Starts a conversation; `id` is that of its first message. */
  write(
    from: Name,
    to: readonly string[],
    content: string,
    subject?: string,
  ): Promise<{ readonly id: string; readonly conversation: string }>;
  send(name: Name, messageId: string, more?: object): Promise<Answer>;
  /** Resolves to the new report. */
  report(name: Name, messageId: string, more?: object): Promise<any>;
  handle(name: Name, id: string, status?: string, note?: string): Promise<Answer>;
  list(query?: string, name?: Name): Promise<any>;
  page(name: Name, path: string): Promise<string>;
}

export function useMessageReports(settings: Readonly<Record<string, unknown>> = {}): MessageReportsForum {
  const forum = useForum({ 'message-reports.rate_limit': 1_000, ...settings });
  const send: MessageReportsForum['send'] = (name, messageId, more = {}) =>
    forum.as[name].post('/api/message-reports', { message_id: messageId, reason: 'abuse', ...more });
  return {
    forum,
    send,
    async write(from, to, content, subject = 'Between us') {
      const answer = await forum.as[from].post('/api/conversations', { to, subject, content });
      const { conversation, message } = expectStatus(answer, 201).body;
      return { id: message.id, conversation: conversation.id };
    },
    report: async (name, messageId, more) => expectStatus(await send(name, messageId, more), 201).body.report,
    handle: (name, id, status = 'resolved', note) =>
      forum.as[name].put(`/api/message-reports/${id}`, { status, ...(note !== undefined && { note }) }),
    list: async (query = '', name = 'mia') =>
      expectStatus(await forum.as[name].get(`/api/message-reports${query}`), 200).body,
    page: async (name, path) => expectStatus(await forum.as[name].get(path), 200).text,
  };
}
