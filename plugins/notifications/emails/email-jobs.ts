import { Type, type Clock, type Data, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { Discussions } from 'parley-forum/plugins/discussions';
import type { Markdown } from 'parley-forum/plugins/markdown';
import type { Mail, Message } from 'parley-forum/ports/mail';
import type { Describer } from '../describer.ts';
import type { NotificationEmails } from './emails.ts';
import type { PreferenceStore, DigestRecipient } from '../preferences/preferences.ts';
import type { Visibility } from '../visibility.ts';
import type { NotificationRow, Store } from '../store.ts';

interface MailSettings {
  readonly 'notifications.mail_delay': number;
}
export interface EmailJobsDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly accounts: Accounts;
  readonly mail: Mail;
  readonly emails: NotificationEmails;
  readonly describer: Describer;
  readonly preferences: PreferenceStore;
  readonly visibility: Visibility;
  readonly store: Store;
  readonly discussions: Pick<Discussions, 'posts'>;
  readonly markdown: Pick<Markdown, 'excerpt'>;
}
/** Characters of a post in an email. */
const EXCERPT = 2_000;
/** Number of members whose digests are rendered at a time, and of notifications listed in one digest. */
const DIGEST_BATCH = 200;
const MAX_IN_DIGEST = 20;
/**
 * Milliseconds before a notification is included in a digest: transactions with older notifications may not have
 * committed yet, so the newest wait for the next digest.
 */
const SETTLE_TIME = 60_000;

/**
 * Jobs that send emails: about single notifications after a delay, and digests in each member's morning. Returns the
 * function that schedules the former.
 */
export function addEmailJobs(
  plugin: PluginHandle<MailSettings>,
  deps: EmailJobsDeps,
): (ids: readonly string[]) => Promise<void> {
  const job = plugin.job<{ readonly id: string }>('mail', {
    schema: Type.Object({ id: Type.String() }),
    run: ({ id }) => emailOne(deps, id),
  });
  // The offsets of time zones are multiples of a quarter of an hour.
  plugin.job('digest', { schema: Type.Object({}), cron: '*/15 * * * *', run: () => emailDigests(deps) });
  return async (ids) => {
    // Uses the system clock, because the database's clock decides when jobs are due.
    const at = new Date(Date.now() + plugin.settings['notifications.mail_delay'] * 1_000);
    for (const id of ids) await job.add({ id }, { at });
  };
}

/** Sends nothing if the notification was read, deleted, hidden or switched off in the meantime. */
async function emailOne(deps: EmailJobsDeps, id: string): Promise<void> {
  const { accounts, mail, emails, describer } = deps;
  const due = await describer.due(id);
  if (due?.channel !== 'mail') return;
  const { row, viewer } = due;
  const to = (await accounts.emails([row.userId])).get(row.userId);
  if (to === undefined) return;
  const text = await textFor(deps, row, viewer);
  await mail.send(await emails.single(row, await accounts.authors(row.actorIds), { to, text }));
}

/** The text of the post, if it was written by someone else and the recipient may see it now. */
async function textFor(
  { discussions, markdown }: EmailJobsDeps,
  { postId, userId }: NotificationRow,
  viewer: Viewer,
): Promise<string | undefined> {
  const [post] = postId === null ? [] : await discussions.posts([postId], viewer);
  return post === undefined || post.author?.id === userId ? undefined : markdown.excerpt(post.content, EXCERPT);
}

/** Each member gets one digest per day or week, whichever process runs the job and however often. */
async function emailDigests(deps: EmailJobsDeps): Promise<void> {
  const { data, clock, preferences } = deps;
  const until = new Date(clock.now() - SETTLE_TIME);
  for (;;) {
    const recipients = await preferences.recipients(DIGEST_BATCH);
    if (recipients.length === 0) return;
    const messages = await digestsOf(deps, recipients, until);
    await data.transaction(async () => {
      await preferences.markDigested(recipients, until);
      await deps.mail.send(...messages);
    });
  }
}

async function digestsOf(
  deps: EmailJobsDeps,
  recipients: readonly DigestRecipient[],
  until: Date,
): Promise<readonly Message[]> {
  const { accounts, emails, describer, visibility, store } = deps;
  const ids = recipients.map(({ id }) => id);
  const [viewers, addresses] = [await accounts.viewers(ids), await accounts.emails(ids)];
  const rows = await store.newest(new Map(recipients.map(({ id, since }) => [id, since])), until, MAX_IN_DIGEST + 1);
  const actors = await accounts.authors([...new Set(rows.flatMap(({ actorIds }) => actorIds))]);
  const textsOf = await emails.textsFor(ids);
  const canSee = await visibility.rules();
  const byMember = Map.groupBy(rows, ({ userId }) => userId);
  return recipients.flatMap(({ id, due }) => {
    const [viewer, to] = [viewers.get(id), addresses.get(id)];
    const visible = viewer
      ? (byMember.get(id) ?? []).filter((row) => canSee(row.categoryId, viewer) && describer.canDescribe(row))
      : [];
    if (to === undefined || visible.length === 0) return [];
    const more = visible.length > MAX_IN_DIGEST;
    return emails.digest(visible.slice(0, MAX_IN_DIGEST), actors, { to, more, due, texts: textsOf(id) });
  });
}
