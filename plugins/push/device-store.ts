import { hash } from 'node:crypto';
import { createId, sql, type Clock, type Data, type RawBuilder, type Secrets } from 'parley-forum';
import { isId } from 'parley-forum/plugins/api';
import type { BrowserSession, TokenStore } from 'parley-forum/plugins/accounts';

/** What a browser discloses to receive messages: an address at its push service, and keys to encrypt with. */
export interface Subscription {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}
/** A device as its member sees it. */
export interface Device {
  readonly id: string;
  /** As `Sessions.deviceText` takes it; null if a program added it with a token. */
  readonly device: string | null;
  readonly createdAt: Date;
  readonly lastSuccessAt: Date | null;
}
/** A device as messages are sent to it. */
export interface Recipient {
  readonly id: string;
  readonly userId: string;
  readonly subscription: Subscription;
}

/** Maximum number of devices of a member. */
const MAX_DEVICES = 10;
/** Days without a success after which a device is removed. */
const MAX_SILENT_DAYS = 60;
/** Consecutive failures after which a device is removed if they lasted longer than an outage: a day. */
const MAX_FAILURES = 20;
const DAY = 86_400_000;

interface DeviceStoreDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly secrets: Secrets;
}

/** The devices of members. A device belongs to one member at a time. */
export class DeviceStore implements TokenStore {
  readonly #deps: DeviceStoreDeps;

  constructor(deps: DeviceStoreDeps) {
    this.#deps = deps;
  }

  /** Newest first. */
  of(userId: string): Promise<readonly Device[]> {
    return this.#deps.data.all(sql<Device>`
      select id, device, created_at as "createdAt", last_success_at as "lastSuccessAt" from push_device
      where user_id = ${userId} order by created_at desc, id desc`);
  }

  /**
   * Adds a device, or takes it over from another member, who had it switched on in the same browser. Removes the ones
   * that were unused for longest if the member has too many. Resolves to its id.
   */
  async add(userId: string, subscription: Subscription, session: BrowserSession | undefined): Promise<string> {
    const { data, clock, secrets } = this.#deps;
    const now = new Date(clock.now());
    return data.transaction(async () => {
      // Serialized per member, so that the count is right.
      await data.lock(`push:${userId}`);
      const row = await data.one(sql<{ id: string }>`
        insert into push_device as d (id, user_id, endpoint_hash, subscription, device, session, created_at)
        values (${createId(now.getTime())}, ${userId}, ${hash('sha256', subscription.endpoint)},
          ${secrets.seal(JSON.stringify(subscription))}, ${session?.device ?? null}, ${session?.id ?? null}, ${now})
        on conflict (endpoint_hash) do update set
          id = case when d.user_id = excluded.user_id then d.id else excluded.id end,
          last_success_at = case when d.user_id = excluded.user_id then d.last_success_at end,
          user_id = excluded.user_id, subscription = excluded.subscription, device = excluded.device,
          session = excluded.session, created_at = excluded.created_at, failures = 0, failing_since = null
        returning id`);
      await data.all(sql`delete from push_device where id in (
        select id from push_device where user_id = ${userId}
        order by greatest(last_success_at, created_at) desc, id desc offset ${MAX_DEVICES})`);
      return row!.id;
    });
  }

  /** Resolves to false if the member has no such device. */
  async remove(userId: string, id: string): Promise<boolean> {
    return isId(id) && (await this.#delete(sql`id = ${id} and user_id = ${userId}`));
  }

  /** Removes the device of a browser, whoever it belongs to. */
  async forget(id: string): Promise<void> {
    if (isId(id)) await this.#delete(sql`id = ${id}`);
  }

  async revokeAll(userId: string): Promise<void> {
    await this.#delete(sql`user_id = ${userId}`);
  }

  /** Removes the devices of one session of the member. */
  async endSession(userId: string, session: string | undefined): Promise<void> {
    await this.#delete(sql`user_id = ${userId} and session = ${session ?? null}`);
  }

  /** Removes the devices of all sessions of the member but this one. */
  async endSessionsExcept(userId: string, session: string | undefined): Promise<void> {
    await this.#delete(sql`user_id = ${userId} and session <> ${session ?? ''}`);
  }

  /** Removes the devices that programs added with the member's token. */
  async endPrograms(userId: string): Promise<void> {
    await this.#delete(sql`user_id = ${userId} and session is null`);
  }

  /** A session started in the browser of this device, which is removed if it belongs to another member. */
  async continueIn(id: string, userId: string, session: string): Promise<void> {
    if (!isId(id)) return;
    await this.#delete(sql`id = ${id} and user_id <> ${userId}`);
    await this.#deps.data.all(sql`update push_device set session = ${session} where id = ${id}`);
  }

  /** Ids of the devices of these members. */
  async ids(userIds: readonly string[]): Promise<readonly { readonly id: string; readonly userId: string }[]> {
    return this.#deps.data.all(sql<{ id: string; userId: string }>`
      select id, user_id as "userId" from push_device where user_id = any(${userIds}::uuid[]) order by user_id, id`);
  }

  async recipient(id: string): Promise<Recipient | undefined> {
    const { data, secrets } = this.#deps;
    const row = await data.one(sql<{ userId: string; subscription: string }>`
      select user_id as "userId", subscription from push_device where id = ${id}`);
    return row && { id, userId: row.userId, subscription: JSON.parse(secrets.open(row.subscription)) as Subscription };
  }

  async succeeded(id: string): Promise<void> {
    await this.#deps.data.all(sql`update push_device
      set last_success_at = ${this.#now()}, failures = 0, failing_since = null where id = ${id}`);
  }

  /** Resolves to the number of failures in a row; removes the device after many. */
  failed(id: string): Promise<number> {
    const { data } = this.#deps;
    const now = this.#now();
    return data.transaction(async () => {
      const row = await data.one(sql<{ failures: number }>`update push_device
        set failures = failures + 1, failing_since = coalesce(failing_since, ${now}::timestamptz) where id = ${id}
        returning failures`);
      await this.#delete(sql`id = ${id} and failures >= ${MAX_FAILURES}
        and failing_since <= ${new Date(now.getTime() - DAY)}`);
      return row?.failures ?? 0;
    });
  }

  async removeSilent(): Promise<void> {
    const since = new Date(this.#now().getTime() - MAX_SILENT_DAYS * DAY);
    await this.#delete(sql`greatest(last_success_at, created_at) < ${since}`);
  }

  async reseal(seal: (sealed: string) => string): Promise<void> {
    const { data } = this.#deps;
    const rows = await data.all(
      sql<{ id: string; subscription: string }>`select id, subscription from push_device order by id for update`,
    );
    const fresh = JSON.stringify(rows.map(({ id, subscription }) => ({ id, subscription: seal(subscription) })));
    await data.all(sql`update push_device d set subscription = f.subscription
      from json_to_recordset(${fresh}::json) as f(id uuid, subscription text) where d.id = f.id`);
  }

  #now(): Date {
    return new Date(this.#deps.clock.now());
  }

  async #delete(which: RawBuilder<unknown>): Promise<boolean> {
    const rows = await this.#deps.data.all(sql`delete from push_device where ${which} returning id`);
    return rows.length > 0;
  }
}
