import { sql, type Clock, type Data } from 'parley-forum';
import type { Channel, Digest } from 'parley-forum/plugins/notifications';
import type { NotificationType } from 'parley-forum/ports/notifications';
import { nextDigest } from './digest-times.ts';

export interface Preferences {
  /** The chosen channels, by type. */
  readonly channels: Readonly<Record<string, Channel>>;
  readonly digest: Digest;
}
interface Choice {
  readonly channels?: Readonly<Record<string, Channel>>;
  readonly digest?: Digest | undefined;
}
const DEFAULTS: Preferences = { channels: {}, digest: 'none' };

/** A member whose digest is due. */
export interface DigestRecipient {
  readonly id: string;
  readonly digest: Digest;
  /** Time of the last digest, which included everything before it. */
  readonly since: Date | undefined;
  readonly due: Date;
}

export interface PreferenceStoreDeps {
  readonly data: Data;
  readonly clock: Clock;
  /** All types of the running plugins; called each time, because plugins can be switched on and off. */
  types(): readonly NotificationType[];
  /** Names of the time zones in which members see times. */
  zonesOf(userIds: readonly string[]): Promise<(userId: string) => string>;
}

/** Notification preferences of members. */
export class PreferenceStore {
  readonly #data: Data;
  readonly #clock: Clock;
  readonly #types: () => readonly NotificationType[];
  readonly #zonesOf: PreferenceStoreDeps['zonesOf'];

  constructor({ data, clock, types, zonesOf }: PreferenceStoreDeps) {
    this.#data = data;
    this.#clock = clock;
    this.#types = types;
    this.#zonesOf = zonesOf;
  }

  /** The returned function accepts any member, and returns the defaults for those without a choice. */
  async of(userIds: readonly string[]): Promise<(userId: string) => Preferences> {
    const rows = await this.#data.all(sql<Preferences & { id: string }>`
      select user_id as id, channels, digest from notification_preference where user_id = any(${userIds}::uuid[])`);
    const known = new Map(rows.map((row) => [row.id, row]));
    return (userId) => known.get(userId) ?? DEFAULTS;
  }

  /** Whether the member has saved preferences. */
  async chosen(userId: string): Promise<boolean> {
    const row = await this.#data.one(
      sql<object>`select user_id from notification_preference where user_id = ${userId}`,
    );
    return row !== undefined;
  }

  /** The member's channel for a type, or its default. */
  channel({ channels }: Preferences, type: string): Channel {
    return channels[type] ?? (this.#types().find((one) => one.type === type)?.mailed ? 'mail' : 'site');
  }

  /** Undefined properties are left as they are. A digest that is switched on covers notifications from now on. */
  async save(userId: string, { channels = {}, digest }: Choice): Promise<void> {
    const now = new Date(this.#clock.now());
    const due = digest && nextDigest(digest, (await this.#zonesOf([userId]))(userId), now);
    await this.#data.all(sql`
      insert into notification_preference as p (user_id, channels, digest, digested_at, digest_due_at)
      values (${userId}, ${JSON.stringify(channels)}::jsonb, coalesce(${digest ?? null}::text, 'none'), ${now},
        ${due ?? null}::timestamptz)
      on conflict (user_id) do update set channels = p.channels || excluded.channels,
        digest = coalesce(${digest ?? null}::text, p.digest),
        digested_at = case when p.digest = 'none' then excluded.digested_at else p.digested_at end,
        digest_due_at = case coalesce(${digest ?? null}::text, p.digest) when p.digest then p.digest_due_at
          else excluded.digest_due_at end`);
  }

  /** Members whose digest is due, those who have waited longest first. */
  recipients(limit: number): Promise<readonly DigestRecipient[]> {
    return this.#data.all(sql<DigestRecipient>`
      select user_id as id, digest, digested_at as since, digest_due_at as due from notification_preference
      where digest_due_at <= ${new Date(this.#clock.now())} order by digest_due_at, user_id limit ${limit}`);
  }

  /** Records that digests covered notifications up to `until`; the next ones are due in the recipients' mornings. */
  async markDigested(recipients: readonly DigestRecipient[], until: Date): Promise<void> {
    const now = new Date(this.#clock.now());
    const zoneOf = await this.#zonesOf(recipients.map(({ id }) => id));
    const next = recipients.map(({ id, digest }) => ({ id, digest, due: nextDigest(digest, zoneOf(id), now) }));
    await this.#data.all(sql`update notification_preference p set digested_at = ${until}, digest_due_at = n.due
      from json_to_recordset(${JSON.stringify(next)}::json) as n(id uuid, digest text, due timestamptz)
      where p.user_id = n.id and p.digest = n.digest`);
  }
}
