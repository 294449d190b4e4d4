import type { PluginHandle } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { audited, auditRules } from 'parley-forum/plugins/audit';
import { moderated, type Discussions } from 'parley-forum/plugins/discussions';
import { acted, ACTIONS, memberNoted, type ModerationEntry } from 'parley-forum/plugins/moderation';
import { reportHandled } from 'parley-forum/plugins/reports';
import type { Log } from './log.ts';

interface CollectingParts {
  readonly access: Access;
  readonly discussions: Pick<Discussions, 'find'>;
  readonly log: Log;
}
/** In place of an account's id: nobody's. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

/** What an entry is about, for the audit log. */
function subjectOf({
  post,
  discussion,
  report_id: report,
  user_id: user,
}: ModerationEntry): { readonly type: string; readonly id: string } | undefined {
  if (report !== undefined) return { type: 'report', id: report };
  if (post) return { type: 'post', id: post.id };
  if (discussion) return { type: 'discussion', id: discussion.id };
  return user === undefined ? undefined : { type: 'account', id: user };
}

/** What is done with posts, discussions and reports comes into the log, and what is in the log into the audit log. */
export function collect(plugin: PluginHandle, { access, discussions, log }: CollectingParts): void {
  plugin.on(moderated, ({ entry }) => log.add(entry), { durable: true });

  // Reports that ended together are one deed, under the one that the moderator had before them.
  plugin.on(
    reportHandled,
    async ({ report }) => {
      const everything: Viewer = { id: NOBODY, username: undefined, group: access.groupOf('admin') };
      const head = await discussions.find(report.discussion_id, everything);
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

  plugin.extend(
    auditRules,
    audited(
      acted,
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
}
