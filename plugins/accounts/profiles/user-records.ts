import { sql, type Data, type Extension, type PluginHandle, type RawBuilder } from 'parley-forum';
import { isId } from 'parley-forum/plugins/api';
import { seeAddresses, UserRecord, type LastSeenRule, type UserField } from 'parley-forum/plugins/accounts';
import type { Access, Viewer } from 'parley-forum/plugins/access';

import { namesLike } from '../accounts/name-search.ts';

/**
 * The schema of a user in the API. The fields of other plugins are looked up on each access, so that OpenAPI reflects
 * the running plugins.
 */
export function userSchema(fields: () => readonly Extension<UserField>[]): typeof UserRecord {
  const properties = (): object => ({
    ...UserRecord.properties,
    ...Object.fromEntries(fields().map(({ value }) => [value.name, value.result])),
  });
  return Object.defineProperty({ ...UserRecord }, 'properties', { enumerable: true, get: properties });
}

interface Row {
  readonly id: string;
  readonly username: string;
  readonly display_name: string | null;
  readonly email: string;
  readonly language: string | null;
  readonly timezone: string | null;
  readonly avatar_url: string | null;
  readonly group_id: string;
  readonly bio: string;
  readonly joined_at: Date;
  readonly last_seen_at: Date | null;
  readonly registration_ip: string | null;
  readonly last_ip: string | null;
}
export type User = UserRecord;

const COLUMNS = sql`id, username::text as username, display_name, email::text as email, language, timezone, avatar_url,
  group_id, bio, joined_at, last_seen_at, registration_ip, last_ip`;

export interface UserRecordsDeps {
  readonly data: Data;
  readonly access: Access;
  readonly fields: () => readonly Extension<UserField>[];
  readonly lastSeenRules: () => readonly Extension<LastSeenRule>[];
  readonly attempt: PluginHandle['attempt'];
  readonly attemptSync: PluginHandle['attemptSync'];
}

/** Milliseconds a plugin may take for a field of a list, or to say who hides when they were last here. */
const PLUGIN_TIMEOUT = 2_000;

/** Reads users as a viewer may see them, always from the database, so that `last_seen_at` is current. */
export class UserRecords {
  readonly #deps: UserRecordsDeps;
  readonly #data: Data;

  constructor(deps: UserRecordsDeps) {
    this.#deps = deps;
    this.#data = deps.data;
  }

  async find(id: string, viewer: Viewer): Promise<User | undefined> {
    if (!isId(id)) return undefined;
    return (
      await this.#records(await this.#data.all(sql<Row>`select ${COLUMNS} from account where id = ${id}`), viewer)
    )[0];
  }

  async findByUsername(username: string, viewer: Viewer): Promise<User | undefined> {
    return (
      await this.#records(
        await this.#data.all(sql<Row>`select ${COLUMNS} from account where username = ${username}::text::citext`),
        viewer,
      )
    )[0];
  }

  /**
   * Users in the order of `ids`, without the properties reserved for themselves and administrators. Inactive ones are
   * missing.
   */
  async many(ids: readonly string[], viewer: Viewer): Promise<readonly User[]> {
    const rows = await this.#data.all(
      sql<Row>`select ${COLUMNS} from account where id = any(${ids}::uuid[]) and status = 'active' order by id`,
    );
    const found = new Map(
      (await this.#records(rows, viewer)).map(
        ({ email: _1, registration_ip: _2, last_ip: _3, language: _4, timezone: _5, ...user }) => [user.id, user],
      ),
    );
    return ids.flatMap((id) => found.get(id) ?? []);
  }

  /** Active users by username: first those whose names start with `text`, then those whose names contain it. */
  async search(
    text: string,
    { limit, offset }: { limit: number; offset: number },
    viewer: Viewer,
  ): Promise<readonly User[]> {
    const { matches, order } = namesLike(text, offset + limit);
    const rows = await this.#data.all(
      sql<Row>`select ${COLUMNS} from account
        where ${matches} and status = 'active' order by ${order} limit ${limit} offset ${offset}`,
    );
    return this.#records(rows, viewer);
  }

  async #records(rows: readonly Row[], viewer: Viewer): Promise<readonly User[]> {
    const ids = rows.map(({ id }) => id);
    const { access } = this.#deps;
    const fields = await this.#fields(ids, viewer);
    const addresses = access.allows(viewer, seeAddresses);
    const hidden = addresses ? [] : await this.#hidden(ids.filter((id) => id !== viewer.id));
    return rows.map((row, index) => ({
      id: row.id,
      username: row.username,
      display_name: row.display_name,
      avatar_url: row.avatar_url,
      group: { id: row.group_id, name: access.group(row.group_id)?.name ?? row.group_id },
      bio: row.bio,
      joined_at: row.joined_at.toISOString(),
      last_seen_at: hidden.includes(row.id) ? null : (row.last_seen_at?.toISOString() ?? null),
      ...(viewer.id === row.id && { language: row.language, timezone: row.timezone }),
      ...((addresses || viewer.id === row.id) && { email: row.email }),
      ...(addresses && { registration_ip: row.registration_ip, last_ip: row.last_ip }),
      ...Object.fromEntries(fields.map(([name, values]) => [name, values[index]])),
    }));
  }

  /**
   * Conditions on the id of an account, each true if the member hides when they were last here. Everyone does while a
   * plugin fails to say who does.
   */
  hiding(account: RawBuilder<string>): readonly RawBuilder<boolean>[] {
    const { lastSeenRules, attemptSync } = this.#deps;
    return lastSeenRules().map(
      ({ plugin, value }) =>
        attemptSync(plugin, 'condition of the last-seen rule', () => value.hides(account)) ?? sql<boolean>`true`,
    );
  }

  /** The values of other plugins' fields for each account; a field that fails is left out. */
  async #fields(
    ids: readonly string[],
    viewer: Viewer,
  ): Promise<readonly (readonly [name: string, values: readonly unknown[]])[]> {
    if (ids.length === 0) return [];
    const { fields, attempt } = this.#deps;
    const loaded = await Promise.all(
      fields().map(async ({ plugin, value: field }) => {
        const load = (): Promise<readonly unknown[]> => field.loadMany(ids, viewer);
        const values = await attempt(plugin, `field ${field.name}`, load, PLUGIN_TIMEOUT);
        return values && ([field.name, values] as const);
      }),
    );
    return loaded.filter((field) => field !== undefined);
  }

  /** Those of the members who hide when they were last here. */
  async #hidden(ids: readonly string[]): Promise<readonly string[]> {
    if (ids.length === 0) return [];
    const { lastSeenRules, attempt } = this.#deps;
    const sets = await Promise.all(
      lastSeenRules().map(({ plugin, value }) =>
        attempt(plugin, 'last-seen rule', () => value.hidden(ids), PLUGIN_TIMEOUT),
      ),
    );
    return sets.flatMap((set) => [...(set ?? ids)]);
  }
}
