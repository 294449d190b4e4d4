import { defineAction, definePermission, Type } from '#core';

export const REASONS = ['spam', 'abuse', 'off_topic', 'illegal', 'other'] as const;
export type Reason = (typeof REASONS)[number];

export const ReportEvent = Type.Object({ id: Type.String(), post_id: Type.String(), reason: Type.Enum([...REASONS]), created_at: Type.String() });
/** Somebody reported a post. */
export const reportCreated = defineAction<{ readonly report: { readonly id: string; readonly post_id: string; readonly reason: Reason; readonly created_at: string } }>(
  'report.created', { public: Type.Object({ report: ReportEvent }) },
);
/** A moderator has dealt with a report. */
export const reportHandled = defineAction<{
  readonly report: { readonly id: string; readonly post_id: string; readonly discussion_id: string; readonly reporter_id: string; readonly outcome: 'resolved' | 'dismissed' };
}>('report.handled');

export const report = definePermission('reports.report', { label: 'report posts', default: 'member' });
export const handleReports = definePermission('reports.handle', { label: 'see and handle reports', default: 'moderator' });
