import type { PluginHandle } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { type Discussions, moderated, postReviewed } from 'parley-forum/plugins/discussions';
import {
  moderationActed,
  ACTIONS,
  memberNoted,
  moderationLogExported,
  type ModerationEntry,
} from 'parley-forum/plugins/moderation';
import { messageReportHandled, reportHandled } from 'parley-forum/ports/moderation';
import type { ModerationLog } from './moderation-log.ts';

interface SubscriberDeps {
  readonly access: Access;
  readonly discussions: Pick<Discussions, 'find'>;
  readonly log: ModerationLog;
}

/** The subject of an entry, for the audit log. */
function subjectOf({
  action,
  post,
  discussion,
  report_id: report,
  user_id: user,
}: ModerationEntry): { readonly type: string; readonly id: string } | undefined {
  if (report !== undefined) return { type: action.slice(0, action.indexOf('.')), id: report };
  if (post) return { type: 'post', id: post.id };
  if (discussion) return { type: 'discussion', id: discussion.id };
  return user === undefined ? undefined : { type: 'account', id: user };
}

/**
 * Adds actions on posts (including held ones), discussions and reports to the moderation log, and its entries to the
 * audit log.
 */
export function subscribe(plugin: PluginHandle, { access, discussions, log }: SubscriberDeps): void {
  plugin.on(moderated, ({ entry }) => log.add(entry), { durable: true });

  // Reports that were handled together make one entry, under the report that the moderator opened.
  plugin.on(
    reportHandled,
    async ({ report }) => {
      const head = await discussions.find(report.discussion_id, access.unrestricted);
      await log.add({
        id: report.lead_id,
        action: `report.${report.outcome}`,
        actor_id: report.handler_id,
        user_id: report.author_id,
        report_id: report.lead_id,
        reason: report.note,
        discussion: head && { id: head.id, number: head.number, title: head.title },
        created_at: report.handled_at,
      });
    },
    { durable: true },
  );

  // Without the note, which may quote the message: entries are never removed from the log.
  plugin.on(
    messageReportHandled,
    ({ report }) =>
      log.add({
        id: report.lead_id,
        action: `message-report.${report.outcome}`,
        actor_id: report.handler_id,
        user_id: report.author_id,
        report_id: report.lead_id,
        reason: '',
        created_at: report.handled_at,
      }),
    { durable: true },
  );

  plugin.on(
    postReviewed,
    ({ review }) =>
      log.add({
        id: review.id,
        action: `post.${review.outcome}`,
        actor_id: review.reviewer_id,
        user_id: review.author_id,
        discussion: review.discussion,
        post: review.post,
        reason: review.reason,
        created_at: review.reviewed_at,
      }),
    { durable: true },
  );

  plugin.extend(
    auditRules,
    audited(
      moderationActed,
      ACTIONS.map((action) => `moderation.${action}` as const),
      ({ entry }) => {
        const subject = subjectOf(entry);
        const details = {
          ...(entry.user_id !== undefined && { member: entry.user_id }),
          ...(entry.until !== undefined && { until: entry.until }),
        };
        return { action: `moderation.${entry.action}`, actor: entry.actor_id, ...(subject && { subject }), details };
      },
    ),
  );
  plugin.extend(
    auditRules,
    audited(memberNoted, ['moderation.member.noted'], ({ userId, by }) => ({
      action: 'moderation.member.noted',
      actor: by,
      subject: { type: 'account', id: userId },
    })),
  );
  plugin.extend(
    auditRules,
    audited(moderationLogExported, ['moderation.log-exported'], ({ by }) => ({
      action: 'moderation.log-exported',
      actor: by,
    })),
  );
}
