import { defineAction, definePermission, defineToken, Type, type Static } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { Author } from 'parley-forum/plugins/accounts';
import { nullable, Time } from 'parley-forum/plugins/api';
import { defineSlot } from 'parley-forum/plugins/web';

export const REASONS = ['spam', 'abuse', 'off_topic', 'illegal', 'other'] as const;
export type Reason = (typeof REASONS)[number];
export const OUTCOMES = ['resolved', 'dismissed'] as const;
export type Outcome = (typeof OUTCOMES)[number];
export const STATUSES = ['open', ...OUTCOMES] as const;
export type Status = (typeof STATUSES)[number];

/**
 * A report as the API returns it to its reporter and to moderators. `note` is the reporter's, `handled_note` the
 * moderator's. Only moderators see who works on it.
 */
export const ReportRecord = Type.Object({
  id: Type.String(),
  post_id: Type.String(),
  discussion_id: Type.String(),
  reason: Type.Enum([...REASONS]),
  note: Type.String(),
  status: Type.Enum([...STATUSES]),
  reporter: nullable(Author),
  created_at: Time,
  claimed_by: nullable(Author),
  claimed_at: nullable(Time),
  handled_by: nullable(Author),
  handled_at: nullable(Time),
  handled_note: Type.String(),
});
export type ReportRecord = Static<typeof ReportRecord>;

export const ReportEvent = Type.Object({
  id: Type.String(),
  post_id: Type.String(),
  reason: Type.Enum([...REASONS]),
  created_at: Type.String(),
});
/** A member reported a post. */
export const reportCreated = defineAction<{
  readonly report: {
    readonly id: string;
    readonly post_id: string;
    readonly reason: Reason;
    readonly created_at: string;
  };
}>('report.created', { public: Type.Object({ report: ReportEvent }) });

/** A moderator claimed a report, released it, or added a note. Never includes the text of the note. */
export const reportWorkedOn = defineAction<{
  readonly report: string;
  readonly by: string;
  readonly what: 'claimed' | 'released' | 'noted';
}>('report.worked-on');

export const reportMeta = defineSlot<ReportRecord>(
  'report.meta',
  'On each report in the moderators’ list, and on its own page, below the reason and the reporter: additional information.',
);
export const reportActions = defineSlot<ReportRecord & { readonly author_id: string }>(
  'report.actions',
  'On the page of an open report, among its buttons: further actions for moderators.',
);

/**
 * Reports of posts that the viewer can see, except their own posts unless they are an admin. For holders of
 * `reports.handle`.
 */
export interface Reports {
  /** Newest first. */
  about(authorId: string, viewer: Viewer, limit: number): Promise<readonly ReportRecord[]>;
}
export const Reports = defineToken<Reports>('Reports');

export const report = definePermission('reports.report', {
  label: 'report others’ posts',
  default: 'member',
});
export const handleReports = definePermission('reports.handle', {
  label: 'see and handle reports',
  default: 'moderator',
});
