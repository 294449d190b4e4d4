import { sql, type Clock, type Data } from 'parley-forum';
import type { Channel, Digest } from 'parley-forum/plugins/notifications';
import type { NotificationType } from 'parley-forum/ports/notifications';

export interface Preferences {
  /** Chosen channels, by type. */
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
  readonly since: Date | undefined;
}

/** Notification preferences of members. */
export class PreferenceStore {
  readonly #data: Data;
  readonly #clock: Clock;
  readonly #types: () => readonly NotificationType[];

  /** `types`: all there are; read each time, because plugins come and go. */
  constructor({ data, clock, types }: { data: Data; clock: Clock; types: () => readonly NotificationType[] }) {
    this.#data = data;
    this.#clock = clock;
    this.#types = types;
  }

  /** Answers for every member, with defaults for those who chose nothing. */
  async of(userIds: readonly string[]): Promise<(userId: string) => Preferences> {
    const rows = await this.#data.all(sql<Preferences & { id: string }>`
      select user_id as id, channels, digest from notification_preference where user_id = any(${userIds}::uuid[])`);
    const known = new Map(rows.map((row) => [row.id, row]));
    return (userId) => known.get(userId) ?? DEFAULTS;
  }

  /** Whether the member has chosen anything. */
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

  /** What is undefined stays. A digest that is switched on covers notifications from now on. */
  async save(userId: string, { channels = {}, digest }: Choice): Promise<void> {
    const now = new Date(this.#clock.now());
    await this.#data.all(sql`insert into notification_preference as p (user_id, channels, digest, digested_at)
      values (${userId}, ${JSON.stringify(channels)}::jsonb, coalesce(${digest ?? null}::text, 'none'), ${now})
      on conflict (user_id) do update set channels = p.channels || excluded.channels, digest = coalesce(${digest ?? null}::text, p.digest),
        digested_at = case when p.digest = 'none' then excluded.digested_at else p.digested_at end`);
  }

  /** Whose last digest was before the beginning of this day or, for weekly ones, of this week; by id, after `after`. */
  recipients(
    { day, week }: { readonly day: Date; readonly week: Date },
    after: string,
    limit: number,
  ): Promise<readonly DigestRecipient[]> {
    return this.#data.all(sql<DigestRecipient>`select user_id as id, digested_at as since from notification_preference
      where digest <> 'none' and user_id > ${after}
        and coalesce(digested_at, '-infinity') < case digest when 'daily' then ${day}::timestamptz else ${week}::timestamptz end
      order by user_id limit ${limit}`);
  }

  /** Their digests covered notifications up to `until`. */
  async markDigested(userIds: readonly string[], until: Date): Promise<void> {
    await this.#data.all(
      sql`update notification_preference set digested_at = ${until} where user_id = any(${userIds}::uuid[])`,
    );
  }
}
