import { defineAction, Type, type Static } from 'parley-forum';
import { Author } from 'parley-forum/plugins/accounts';
import { nullable, Time } from 'parley-forum/plugins/api';
import { REASONS, STATUSES } from 'parley-forum/plugins/reports';

/** A copy of the message from when it was reported; moderators see nothing else of its conversation. */
export const ReportedMessage = Type.Object({
  author: nullable(Author),
  content: Type.String(),
  html: Type.String(),
  is_deleted: Type.Boolean({ description: 'Its author erased it with their account; its text is empty' }),
  created_at: Time,
});
export type ReportedMessage = Static<typeof ReportedMessage>;

/**
 * A report as the API returns it to its reporter and to moderators. `note` is the reporter's, `handled_note` the
 * moderator's.
 */
export const MessageReportRecord = Type.Object({
  id: Type.String(),
  message_id: Type.String(),
  message: ReportedMessage,
  reason: Type.Enum([...REASONS]),
  note: Type.String(),
  status: Type.Enum([...STATUSES]),
  reporter: nullable(Author),
  created_at: Time,
  handled_by: nullable(Author),
  handled_at: nullable(Time),
  handled_note: Type.String(),
});
export type MessageReportRecord = Static<typeof MessageReportRecord>;

/** A member reported a message. Raised in the transaction that stores the report; never includes any text of it. */
export const messageReportCreated = defineAction<{ readonly report: { readonly id: string } }>(
  'message-report.created',
);
