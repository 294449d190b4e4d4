import {
  HttpError,
  InvalidInput,
  notFound,
  sql,
  ZERO_ID,
  type Cache,
  type Clock,
  type Data,
  type Permission,
  type PluginHandle,
  type RawBuilder,
} from 'parley-forum';
import {
  accessTag,
  groupSaved,
  permissionDecided,
  type Access,
  type Audience,
  type Group,
  type Level,
  type Suspension,
  type Viewer,
} from 'parley-forum/plugins/access';
import { DecisionEntity, GroupEntity } from './entities.ts';

/** The ladder, lowest step first. */
const LEVELS: readonly Level[] = ['banned', 'guest', 'member', 'moderator', 'admin'];
const KEY = 'access.snapshot';
/** The minimum level for each default of a permission; an unknown default requires an admin. */
const DEFAULT_LEVELS: Readonly<Record<string, Level>> = {
  everyone: 'guest',
  member: 'member',
  moderator: 'moderator',
  admin: 'admin',
};

interface Snapshot {
  readonly groups: ReadonlyMap<string, Group>;
  readonly list: readonly Group[];
  readonly decisions: ReadonlyMap<string, boolean>;
  readonly guest: Viewer;
  readonly unrestricted: Viewer;
  /** By member, the next to end first. */
  readonly suspensions: ReadonlyMap<string, Suspension>;
}

export interface AccessDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly emit: PluginHandle['emit'];
}

/** An id that no account has; a viewer without an id would be a guest. */
const NO_ONE = ZERO_ID;

const rank = (level: Level): number => LEVELS.indexOf(level);
const decisionKey = (groupId: string, permission: string): string => `${groupId} ${permission}`;

function snapshotOf(
  groups: readonly Group[],
  decisions: Snapshot['decisions'],
  suspensions: readonly Suspension[] = [],
): Snapshot {
  const list = groups.toSorted(
    (a, b) =>
      rank(a.level) - rank(b.level) ||
      Number(b.builtIn) - Number(a.builtIn) ||
      a.name.localeCompare(b.name) ||
      (a.id < b.id ? -1 : 1),
  );
  const byId = new Map(list.map((group) => [group.id, Object.freeze(group)]));
  const guest = Object.freeze({ id: undefined, username: undefined, group: byId.get('guest')! });
  const unrestricted = Object.freeze({ id: NO_ONE, username: '', group: byId.get('admin')! });
  return {
    groups: byId,
    list,
    decisions,
    guest,
    unrestricted,
    suspensions: new Map(suspensions.map((one) => [one.userId, one])),
  };
}

/** The groups, permission decisions and suspensions in the database, cached as a snapshot. */
export class AccessService implements Access {
  readonly #deps: AccessDeps;
  #now: Snapshot = snapshotOf(
    LEVELS.map((level) => ({ id: level, name: level, level, builtIn: true })),
    new Map(),
  );

  constructor(deps: AccessDeps) {
    this.#deps = deps;
  }

  get guest(): Viewer {
    return this.#now.guest;
  }

  get unrestricted(): Viewer {
    return this.#now.unrestricted;
  }

  refresh(): Promise<void> | undefined {
    const held = this.#deps.cache.peek<Snapshot>(KEY);
    if (!held) return this.#read();
    this.#now = held;
    // Values cached during a suspension reflect what its member could not do, so they are purged when it ends.
    return this.#anyEnded() ? this.#changed() : undefined;
  }

  groups(): readonly Group[] {
    return this.#now.list;
  }

  group(id: string): Group | undefined {
    return this.#now.groups.get(id);
  }

  groupOf(level: Level): Group {
    return this.#now.groups.get(level)!;
  }

  findGroup(idOrName: string): Group | undefined {
    const name = idOrName.toLowerCase();
    return this.group(idOrName) ?? this.#now.list.find((group) => group.name.toLowerCase() === name);
  }

  allows({ id, group }: Viewer, permission: Permission): boolean {
    if (group.level === 'banned') return false;
    if (group.id === 'admin') return true;
    return this.#grants(this.suspension(id) ? this.groupOf('guest') : group, permission);
  }

  admitted(viewer: Viewer, permission: Permission): boolean {
    if (this.allows(viewer, permission)) return true;
    if (viewer.group.level === 'banned' && this.#grants(this.groupOf('member'), permission)) {
      throw new HttpError(403, 'You are banned: you see what guests see and may not write', { code: 'banned' });
    }
    const suspension = this.suspension(viewer.id);
    if (!suspension || !this.#grants(viewer.group, permission)) return false;
    const { until, reason } = suspension;
    throw new HttpError(403, `You are suspended until ${until.toISOString()}: ${reason}`, { code: 'suspended' });
  }

  #grants(group: Group, permission: Permission): boolean {
    const least = DEFAULT_LEVELS[permission.default] ?? 'admin';
    if (group.level === 'guest' && least !== 'guest') return false;
    return this.#now.decisions.get(decisionKey(group.id, permission.id)) ?? rank(group.level) >= rank(least);
  }

  admits(audience: Audience, { id, group }: Viewer): boolean {
    if (audience === 'everyone') return true;
    if (id === undefined || group.level === 'banned') return false;
    if (audience === 'members' || group.level === 'admin') return true;
    return audience === 'staff' ? group.level === 'moderator' : audience.includes(group.id);
  }

  outranks(viewer: Viewer, group: Group): boolean {
    return rank(viewer.group.level) > rank(group.level);
  }

  suspension(userId: string | undefined): Suspension | undefined {
    const found = userId === undefined ? undefined : this.#now.suspensions.get(userId);
    return found && this.#isActive(found) ? found : undefined;
  }

  suspensions(): readonly Suspension[] {
    return [...this.#now.suspensions.values()].filter((one) => this.#isActive(one));
  }

  async suspend({ userId, until, reason }: Suspension): Promise<void> {
    if (until.getTime() <= this.#deps.clock.now())
      throw new InvalidInput([{ field: 'until', message: 'must be in the future' }]);
    await this.#change(sql`insert into access_suspension (user_id, until, reason)
      values (${userId}, ${until}, ${reason})
      on conflict (user_id) do update set until = excluded.until, reason = excluded.reason`);
  }

  async release(userId: string): Promise<void> {
    await this.#change(sql`delete from access_suspension where user_id = ${userId}`);
  }

  signature({ id, group }: Viewer): string {
    return this.suspension(id) ? `${group.id}:suspended` : group.id;
  }

  representative(viewer: Viewer): Viewer | undefined {
    if (viewer.id === undefined) return viewer;
    return this.suspension(viewer.id) ? undefined : { id: NO_ONE, username: '', group: viewer.group };
  }

  async decide(groupId: string, permission: Permission, allowed: boolean | undefined, by?: string): Promise<void> {
    const group = this.group(groupId);
    if (!group) throw notFound('There is no such group');
    this.#refuse(group, permission, allowed);
    await this.#deps.data.transaction(async (em) => {
      if (allowed === undefined) await em.nativeDelete(DecisionEntity, { groupId, permission: permission.id });
      else await em.upsert(DecisionEntity, { groupId, permission: permission.id, allowed });
      await this.#deps.emit(permissionDecided, { groupId, permission: permission.id, allowed, by });
    });
    await this.#changed();
  }

  async saveGroup(
    { id = crypto.randomUUID(), name, level }: { id?: string; name: string; level: Level },
    by?: string,
  ): Promise<Group> {
    const before = this.group(id);
    if (before?.builtIn && before.level !== level)
      throw new InvalidInput([{ field: 'level', message: 'cannot be changed for a built-in group' }]);
    const group: Group = { id, name: name.trim(), level, builtIn: before?.builtIn ?? false };
    if (group.name.length < 1 || group.name.length > 50)
      throw new InvalidInput([{ field: 'name', message: 'must have 1 to 50 characters' }]);
    const other = this.findGroup(group.name);
    if (other && other.id !== id) throw new InvalidInput([{ field: 'name', message: 'is taken by another group' }]);
    await this.#deps.data.transaction(async (em) => {
      await em.upsert(GroupEntity, group);
      await this.#deps.emit(groupSaved, { group: { id, name: group.name, level }, by });
    });
    await this.#changed();
    return group;
  }

  #refuse(group: Group, permission: Permission, allowed: boolean | undefined): void {
    if (group.id === 'admin') throw new HttpError(400, 'Admins have every permission');
    if (!allowed) return;
    const guestMayHave = DEFAULT_LEVELS[permission.default] === 'guest';
    if (group.level === 'banned' || (group.level === 'guest' && !guestMayHave))
      throw new HttpError(400, `The group ${group.name} cannot be given the permission to ${permission.label}`);
  }

  /** The purge takes effect when the surrounding transaction commits. */
  async #change(statement: RawBuilder<unknown>): Promise<void> {
    const { data, cache } = this.#deps;
    await data.transaction(async () => {
      await data.all(statement);
      await cache.purge(accessTag);
    });
  }

  async #changed(): Promise<void> {
    await this.#deps.cache.purge(accessTag);
    await this.#read();
  }

  #isActive({ until }: Suspension): boolean {
    return until.getTime() > this.#deps.clock.now();
  }

  /** Whether a suspension has ended since the snapshot was read. */
  #anyEnded(): boolean {
    const [next] = this.#now.suspensions.values();
    return next !== undefined && !this.#isActive(next);
  }

  async #read(): Promise<void> {
    const { data, cache, clock } = this.#deps;
    this.#now = await cache.remember(KEY, [accessTag], async () => {
      const groups = await data.all(
        sql<{
          id: string;
          name: string;
          level: Level;
          builtIn: boolean;
        }>`select id, name::text as name, level, built_in as "builtIn" from access_group order by id`,
      );
      const rows = await data.all(
        sql<{
          key: string;
          allowed: boolean;
        }>`select group_id || ' ' || permission as key, allowed from access_decision order by group_id, permission`,
      );
      const suspensions = await data.all(sql<Suspension>`
        select user_id as "userId", until, reason from access_suspension
        where until > ${new Date(clock.now())} order by until, user_id`);
      return snapshotOf(groups, new Map(rows.map(({ key, allowed }) => [key, allowed])), suspensions);
    });
  }
}
