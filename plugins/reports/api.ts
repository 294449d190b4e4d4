import { defineAction, definePermission, Type, type Static } from '#core';
import { Author } from '#plugins/accounts';
import { nullable, Time } from '#plugins/api';

export const REASONS = ['spam', 'abuse', 'off_topic', 'illegal', 'other'] as const;
export type Reason = (typeof REASONS)[number];
export const OUTCOMES = ['resolved', 'dismissed'] as const;
export type Outcome = (typeof OUTCOMES)[number];
export const STATUSES = ['open', ...OUTCOMES] as const;
export type Status = (typeof STATUSES)[number];

/** A report as the API shows it, to whoever made it and to moderators. `note` is the reporter's, `handled_note` the moderator's. */
export const ReportRecord = Type.Object({
  id: Type.String(), post_id: Type.String(), discussion_id: Type.String(), reason: Type.Enum([...REASONS]), note: Type.String(), status: Type.Enum([...STATUSES]),
  reporter: nullable(Author), created_at: Time, handled_by: nullable(Author), handled_at: nullable(Time), handled_note: Type.String(),
});
export type ReportRecord = Static<typeof ReportRecord>;

export const ReportEvent = Type.Object({ id: Type.String(), post_id: Type.String(), reason: Type.Enum([...REASONS]), created_at: Type.String() });
/** Somebody reported a post. */
export const reportCreated = defineAction<{ readonly report: { readonly id: string; readonly post_id: string; readonly reason: Reason; readonly created_at: string } }>(
  'report.created', { public: Type.Object({ report: ReportEvent }) },
);
/** A moderator has dealt with a report. */
export const reportHandled = defineAction<{
  readonly report: { readonly id: string; readonly post_id: string; readonly discussion_id: string; readonly reporter_id: string; readonly outcome: Outcome };
}>('report.handled');

export const report = definePermission('reports.report', { label: 'report posts', default: 'member' });
export const handleReports = definePermission('reports.handle', { label: 'see and handle reports', default: 'moderator' });
