import { expect, vi } from 'vitest';
import { Data, sql } from 'parley-forum';
import type { Client } from 'parley-forum/testing';
import { expectStatus, type Forum } from '../discussions/forum.ts';

export const POLL = { timeout: 15_000, interval: 25 };

export const listOf = async (client: Client, query = ''): Promise<any[]> =>
  expectStatus(await client.get(`/api/notifications${query}`), 200).body.notifications;
export const countOf = async (client: Client): Promise<number> =>
  expectStatus(await client.get('/api/notifications/count'), 200).body.count;
export const readAll = async (client: Client): Promise<void> =>
  void expectStatus(await client.post('/api/notifications/mark-read', {}), 200);

/** Resolves when all durable listeners have run. */
export async function settled({ app }: Forum): Promise<void> {
  const pending = () =>
    app.app
      .service(Data)
      .all(
        sql`select listener from job where listener like 'notifications/%' and listener not like '%job:%' and failed_at is null`,
      );
  await vi.waitFor(async () => expect(await pending()).toEqual([]), POLL);
}

/** A short form of each notification: type, title, count and whether it is read. */
export const shortly = (notifications: readonly any[]): unknown[] =>
  notifications.map(({ type, title, count, is_read }) => [type, title, count, is_read]);
