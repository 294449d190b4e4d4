import {
  createId,
  HttpError,
  notFound,
  sql,
  type Clock,
  type Data,
  type PluginHandle,
  type SealedStore,
  type Secrets,
} from 'parley-forum';
import { isId } from 'parley-forum/plugins/api';
import { webhookDisabled, type DisabledReason, type Status, type WebhookRecord } from 'parley-forum/plugins/webhooks';
import type { DeliveryQueue } from './delivery/delivery-queue.ts';
import { createSecret, stillSigning, type WebhookSecrets } from './signatures.ts';

const HOUR = 3_600_000;
/**
 * Milliseconds for which a replaced secret is still used to sign, and for which deliveries must have failed before a
 * webhook is switched off.
 */
const ROTATION_PERIOD = 24 * HOUR;
const FAILING_LIMIT = 120 * HOUR;
/** Maximum number of replaced secrets in use, so that signature headers stay short. */
const MAX_OLD_SECRETS = 4;

export interface WebhookRow extends WebhookSecrets {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly categories: readonly string[];
  readonly active: boolean;
  /** Why it was switched off automatically. */
  readonly disabled: DisabledReason | null;
  readonly lastStatus: Status | null;
  readonly lastDeliveryAt: Date | null;
}
export type WebhookInput = Pick<WebhookRow, 'name' | 'url' | 'events' | 'categories' | 'active'>;

const COLUMNS =
  sql.raw(`id, name, url, events, categories, active, disabled, last_status as "lastStatus", last_delivery_at as "lastDeliveryAt",
  secret, old_secrets as "oldSecrets"`);

/** The record shown in the administrators' list. */
export const recordOf = ({
  id,
  name,
  url,
  events,
  active,
  categories,
  lastStatus,
  lastDeliveryAt,
}: WebhookRow): WebhookRecord => ({
  id,
  name,
  url,
  events,
  active,
  categories,
  last_status: lastStatus,
  last_delivery_at: lastDeliveryAt?.toISOString() ?? null,
});

export interface WebhookStoreDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly queue: DeliveryQueue;
  readonly plugin: PluginHandle;
}

/** The webhooks of the forum, with sealed secrets. */
export class WebhookStore implements SealedStore {
  readonly #deps: WebhookStoreDeps;

  constructor(deps: WebhookStoreDeps) {
    this.#deps = deps;
  }

  list(): Promise<readonly WebhookRow[]> {
    return this.#deps.data.all(sql<WebhookRow>`select ${COLUMNS} from webhook order by name, id`);
  }

  async find(id: string): Promise<WebhookRow | undefined> {
    return isId(id) ? this.#deps.data.one(sql<WebhookRow>`select ${COLUMNS} from webhook where id = ${id}`) : undefined;
  }

  /** Resolves to the webhook and its secret, which is never shown again. */
  async create({
    name,
    url,
    events,
    categories,
    active,
  }: WebhookInput): Promise<{ readonly webhook: WebhookRow; readonly secret: string }> {
    const { data, clock, secrets } = this.#deps;
    const now = new Date(clock.now());
    const secret = createSecret();
    const webhook =
      await data.one(sql<WebhookRow>`insert into webhook (id, name, url, events, categories, active, secret, created_at)
      values (${createId(now.getTime())}, ${name}, ${url}, ${events}::text[], ${categories}::uuid[], ${active}, ${secrets.seal(secret)}, ${now}) returning ${COLUMNS}`);
    return { webhook: webhook!, secret };
  }

  /**
   * Omitted properties are left as they are. Switching the webhook on resets its failures; switching it off cancels its
   * pending deliveries.
   */
  async update(id: string, changes: Partial<WebhookInput>): Promise<WebhookRow> {
    const { data, queue } = this.#deps;
    const { name = null, url = null, events = null, categories = null, active = null } = changes;
    return data.transaction(async () => {
      const row = await data.one(sql<WebhookRow>`update webhook
          set name = coalesce(${name}, name), url = coalesce(${url}, url), events = coalesce(${events}::text[], events),
          categories = coalesce(${categories}::uuid[], categories),
          disabled = case when active or not coalesce(${active}::boolean, active) then disabled end,
          failing_since = case when active then failing_since end,
          failures = 0, active = coalesce(${active}::boolean, active)
        where id = ${id} returning ${COLUMNS}`);
      if (!row) throw notFound('There is no such webhook');
      await (row.active ? queue.resume(id) : queue.cancel(id));
      return row;
    });
  }

  /** Deletes a webhook with its history and its pending deliveries. */
  async remove(id: string): Promise<void> {
    const { data, queue } = this.#deps;
    await data.transaction(async () => {
      await data.all(sql`delete from webhook where id = ${id}`);
      await queue.cancel(id);
    });
  }

  /**
   * Replaces the secret and resolves to the new one. Every replaced secret is used to sign for another day. Rejects
   * with 409 if the maximum number of replaced secrets is in use.
   */
  async rotate(id: string): Promise<string> {
    const { data, clock, secrets } = this.#deps;
    const secret = createSecret();
    await data.transaction(async () => {
      const row = await data.one(sql<WebhookRow>`select ${COLUMNS} from webhook where id = ${id} for update`);
      if (!row) throw notFound('There is no such webhook');
      const now = clock.now();
      const old = stillSigning(row.oldSecrets, now);
      if (old.length >= MAX_OLD_SECRETS)
        throw new HttpError(
          409,
          `The last ${MAX_OLD_SECRETS} secrets are still in use; you can create a new one when the oldest expires, at ${old.at(-1)!.until}`,
        );
      const oldSecrets = [{ secret: row.secret, until: new Date(now + ROTATION_PERIOD).toISOString() }, ...old];
      await data.all(
        sql`update webhook set secret = ${secrets.seal(secret)}, old_secrets = ${JSON.stringify(oldSecrets)}::jsonb
          where id = ${id}`,
      );
    });
    return secret;
  }

  /** Switches a webhook off automatically, and raises `webhook.disabled`. */
  async disable(id: string, reason: DisabledReason): Promise<void> {
    const { data, queue, plugin } = this.#deps;
    await data.transaction(async () => {
      const row = await data.one(
        sql<{
          name: string;
        }>`update webhook set active = false, disabled = ${reason} where id = ${id} and active returning name`,
      );
      if (!row) return;
      await queue.cancel(id);
      await plugin.emit(webhookDisabled, { webhook: { id, name: row.name, reason } });
      plugin.log.warn({ webhook: id, reason }, 'a webhook was switched off');
    });
  }

  /** Switches a webhook off if nothing was delivered for too long; resolves to whether it did. */
  async disableFailing(id: string, since: Date): Promise<boolean> {
    if (this.#deps.clock.now() - since.getTime() < FAILING_LIMIT) return false;
    await this.disable(id, 'failing');
    return true;
  }

  async reseal(seal: (sealed: string) => string): Promise<void> {
    const { data } = this.#deps;
    const rows = await data.all(sql<WebhookRow>`select ${COLUMNS} from webhook order by id for update`);
    const fresh = JSON.stringify(
      rows.map(({ id, secret, oldSecrets }) => ({
        id,
        secret: seal(secret),
        old: oldSecrets.map((old) => ({ ...old, secret: seal(old.secret) })),
      })),
    );
    await data.all(
      sql`update webhook w set secret = f.secret, old_secrets = f.old
        from json_to_recordset(${fresh}::json) as f(id uuid, secret text, old jsonb) where w.id = f.id`,
    );
  }
}
