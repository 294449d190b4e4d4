import { Type, type Clock, type Data, type PluginHandle } from 'parley-forum';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { Mail, Message } from 'parley-forum/plugins/mail';
import type { Letters } from './emails.ts';
import type { PreferenceStore, Reader } from '../preferences/preferences.ts';
import type { Sight } from '../visibility.ts';
import { NONE, type Store } from '../store.ts';

interface MailSettings {
  readonly 'notifications.mail_delay': number;
}
export interface MailingParts {
  readonly data: Data;
  readonly clock: Clock;
  readonly accounts: Accounts;
  readonly mail: Mail;
  readonly letters: Letters;
  readonly preferences: PreferenceStore;
  readonly sight: Sight;
  readonly store: Store;
}
/** Members whose digests are made at a time, and the notifications one names. */
const READERS = 200;
const NAMED = 20;
const DAY = 86_400_000;
/** Milliseconds: what is newer may have company that is not committed yet, so it waits for the next digest. */
const FRESH = 60_000;

/**
 * What is mailed: single notifications a while after they came, and digests each morning. Returns how to ask for the
 * former.
 */
export function addMailing(
  plugin: PluginHandle<MailSettings>,
  parts: MailingParts,
): (ids: readonly string[]) => Promise<void> {
  const job = plugin.job<{ readonly id: string }>('mail', {
    schema: Type.Object({ id: Type.String() }),
    run: ({ id }) => mailOne(parts, id),
  });
  plugin.job('digest', { schema: Type.Object({}), cron: '0 7 * * *', run: () => mailDigests(parts) });
  return async (ids) => {
    // By the computer's clock, as jobs are due by the database's.
    const at = new Date(Date.now() + plugin.settings['notifications.mail_delay'] * 1_000);
    for (const id of ids) await job.add({ id }, { at });
  };
}

/** Nothing where it was read or deleted meanwhile, may not be seen any more, or is not wanted by mail any more. */
async function mailOne(
  { accounts, mail, letters, preferences, sight, store }: MailingParts,
  id: string,
): Promise<void> {
  const row = await store.find(id);
  if (!row || row.isRead) return;
  const { userId, type, actorId } = row;
  const viewer = (await accounts.viewers([userId])).get(userId);
  const to = (await accounts.emails([userId])).get(userId);
  if (!viewer || to === undefined || !(await sight.categories(viewer)).includes(row.categoryId)) return;
  if (preferences.channel((await preferences.of([userId]))(userId), type) !== 'mail') return;
  const actor = actorId === null ? undefined : (await accounts.authors([actorId])).get(actorId);
  await mail.send(letters.one(row, actor, to));
}

/** Each member's once a day or week, whichever process is asked and however often. */
async function mailDigests(parts: MailingParts): Promise<void> {
  const { data, clock, preferences } = parts;
  const until = new Date(clock.now() - FRESH);
  const day = new Date(Math.floor(clock.now() / DAY) * DAY);
  const week = new Date(day.getTime() - ((day.getUTCDay() + 6) % 7) * DAY);
  for (let after = NONE; ;) {
    const readers = await preferences.readers({ day, week }, after, READERS);
    if (readers.length > 0) {
      const messages = await digestsOf(parts, readers, until, day.toISOString().slice(0, 10));
      await data.transaction(async () => {
        await preferences.digested(
          readers.map(({ id }) => id),
          until,
        );
        await parts.mail.send(...messages);
      });
    }
    if (readers.length < READERS) return;
    after = readers.at(-1)!.id;
  }
}

async function digestsOf(
  parts: MailingParts,
  readers: readonly Reader[],
  until: Date,
  key: string,
): Promise<readonly Message[]> {
  const { accounts, letters, sight, store } = parts;
  const ids = readers.map(({ id }) => id);
  const [viewers, addresses] = [await accounts.viewers(ids), await accounts.emails(ids)];
  const rows = await store.newest(new Map(readers.map(({ id, since }) => [id, since])), until, NAMED + 1);
  const actors = await accounts.authors([...new Set(rows.flatMap(({ actorId }) => actorId ?? []))]);
  const byMember = Map.groupBy(rows, ({ userId }) => userId);
  return ids.flatMap((id) => {
    const [viewer, to] = [viewers.get(id), addresses.get(id)];
    const visible = viewer ? (byMember.get(id) ?? []).filter(({ categoryId }) => sight.sees(categoryId, viewer)) : [];
    if (to === undefined || visible.length === 0) return [];
    return letters.digest(visible.slice(0, NAMED), actors, { to, more: visible.length > NAMED, key });
  });
}
