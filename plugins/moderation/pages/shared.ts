import type { PluginHandle } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { Discussions } from 'parley-forum/plugins/discussions';
import type { Reports } from 'parley-forum/plugins/reports';
import type { NamedEntry, ModerationLog } from '../moderation-log.ts';
import type { MemberNotes } from '../member-notes.ts';
import type { Sanctions } from '../sanctions.ts';

export interface PagesDeps {
  readonly plugin: PluginHandle;
  readonly access: Access;
  readonly accounts: Accounts;
  readonly discussions: Discussions;
  readonly reports: Reports | undefined;
  readonly log: ModerationLog;
  readonly sanctions: Sanctions;
  readonly memberNotes: MemberNotes;
}
export const HOME = '/mod';
export const LOG = '/mod/log';
/** The path of the moderators' page about a member. */
export const memberPath = (username: string): string => `/mod/members/${encodeURIComponent(username)}`;

/** A log entry as templates show it. */
export function entryModel(entry: NamedEntry): object {
  const {
    id,
    action,
    actor,
    member,
    discussion_number: discussion,
    post_number: post,
    title,
    report_id: report,
    reason,
    until,
    created_at: at,
  } = entry;
  const href = discussion === null ? undefined : `/d/${discussion}${post === null ? '' : `/${post}`}`;
  return {
    id,
    action: `moderation:action.${action}`,
    actor,
    title,
    href,
    post,
    // Reports of private messages are deleted after a while.
    report: report === null || action.startsWith('message-report.') ? undefined : `/mod/reports/${report}`,
    reason,
    until,
    at,
    member,
    memberHref: member && memberPath(member.username),
  };
}
