import { sql, type Data } from 'parley-forum';
import { readInBatches, jsonList, type PersonalData } from 'parley-forum/ports/personal-data';
import type { PreferenceStore } from './preferences/preferences.ts';
import { NONE } from './store.ts';

interface Row {
  readonly id: string;
  readonly type: string;
  readonly title: string;
  readonly url: string;
  readonly count: number;
  readonly is_read: boolean;
  readonly created_at: Date;
}

/** A member's notifications and preferences, without actors, and without notifications that they may no longer see. */
export const notificationsPersonalData = ({
  data,
  preferences,
  visible,
}: {
  readonly data: Data;
  readonly preferences: PreferenceStore;
  /** Ids of the categories that the member may see. */
  readonly visible: (accountId: string) => Promise<readonly string[]>;
}): PersonalData => ({
  name: 'notifications',
  async *entries(accountId) {
    const categories = await visible(accountId);
    const rows = readInBatches<Row>((after, limit) =>
      data.all(sql<Row>`
      select id, type, coalesce(title, discussion_title, '') as title, url, count, is_read, created_at from notification
      where user_id = ${accountId} and id > ${after?.id ?? NONE} and category_id = any(${categories}::uuid[])
      order by id limit ${limit}`),
    );
    yield { path: 'notifications.json', content: jsonList(rows) };
    const { channels, digest } = (await preferences.of([accountId]))(accountId);
    yield { path: 'notification-preferences.json', content: JSON.stringify({ channels, digest }, undefined, 2) };
  },
  async erase(accountId) {
    await data.transaction(async () => {
      for (const table of ['notification', 'notification_count', 'notification_key', 'notification_preference']) {
        await data.all(sql`delete from ${sql.table(table)} where user_id = ${accountId}`);
      }
    });
  },
});
