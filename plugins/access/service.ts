import { HttpError, InvalidInput, notFound, sql, type Cache, type Data, type Permission } from '#core';
import { accessTag, type Access, type Audience, type Group, type Level, type Viewer } from '#plugins/access';
import { DecisionEntity, GroupEntity } from './entities.ts';

/** The ladder, lowest first. */
const LEVELS: readonly Level[] = ['banned', 'guest', 'member', 'moderator', 'admin'];
const KEY = 'access.snapshot';
/** What a permission's default asks for at least; a word nobody knows asks for an admin. */
const LEAST: Readonly<Record<string, Level>> = { everyone: 'guest', member: 'member', moderator: 'moderator', admin: 'admin' };

interface Snapshot {
  readonly groups: ReadonlyMap<string, Group>;
  readonly list: readonly Group[];
  readonly decisions: ReadonlyMap<string, boolean>;
  readonly guest: Viewer;
}

const rank = (level: Level): number => LEVELS.indexOf(level);
const decisionKey = (groupId: string, permission: string): string => `${groupId} ${permission}`;

function snapshotOf(groups: readonly Group[], decisions: Snapshot['decisions']): Snapshot {
  const list = groups.toSorted((a, b) => rank(a.level) - rank(b.level) || Number(b.builtIn) - Number(a.builtIn) || a.name.localeCompare(b.name) || (a.id < b.id ? -1 : 1));
  const byId = new Map(list.map((group) => [group.id, Object.freeze(group)]));
  return { groups: byId, list, decisions, guest: Object.freeze({ id: undefined, username: undefined, group: byId.get('guest')! }) };
}

/** The groups and decisions of the database, held in memory. */
export class AccessService implements Access {
  readonly #data: Data;
  readonly #cache: Cache;
  #now: Snapshot = snapshotOf(LEVELS.map((level) => ({ id: level, name: level, level, builtIn: true })), new Map());

  constructor(data: Data, cache: Cache) {
    this.#data = data;
    this.#cache = cache;
  }

  get guest(): Viewer {
    return this.#now.guest;
  }

  refresh(): Promise<void> | undefined {
    const held = this.#cache.peek<Snapshot>(KEY);
    if (!held) return this.#read();
    this.#now = held;
    return undefined;
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

  allows({ group }: Viewer, permission: Permission): boolean {
    if (group.level === 'banned') return false;
    if (group.id === 'admin') return true;
    const least = LEAST[permission.default] ?? 'admin';
    if (group.level === 'guest' && least !== 'guest') return false;
    return this.#now.decisions.get(decisionKey(group.id, permission.id)) ?? rank(group.level) >= rank(least);
  }

  admits(audience: Audience, { id, group }: Viewer): boolean {
    if (audience === 'everyone') return true;
    if (id === undefined || group.level === 'banned') return false;
    if (audience === 'members' || group.level === 'admin') return true;
    return audience === 'staff' ? group.level === 'moderator' : audience.includes(group.id);
  }

  signature(viewer: Viewer): string {
    return viewer.group.id;
  }

  async decide(groupId: string, permission: Permission, allowed: boolean | undefined): Promise<void> {
    const group = this.group(groupId);
    if (!group) throw notFound('There is no such group');
    this.#refuse(group, permission, allowed);
    await this.#data.transaction(async (em) => {
      if (allowed === undefined) await em.nativeDelete(DecisionEntity, { groupId, permission: permission.id });
      else await em.upsert(DecisionEntity, { groupId, permission: permission.id, allowed });
    });
    await this.#changed();
  }

  async saveGroup({ id = crypto.randomUUID(), name, level }: { id?: string; name: string; level: Level }): Promise<Group> {
    const before = this.group(id);
    if (before?.builtIn && before.level !== level) throw new InvalidInput([{ field: 'level', message: 'of a built-in group cannot be changed' }]);
    const group: Group = { id, name: name.trim(), level, builtIn: before?.builtIn ?? false };
    if (group.name.length < 1 || group.name.length > 50) throw new InvalidInput([{ field: 'name', message: 'must have 1 to 50 characters' }]);
    const other = this.findGroup(group.name);
    if (other && other.id !== id) throw new InvalidInput([{ field: 'name', message: 'is taken by another group' }]);
    await this.#data.transaction((em) => em.upsert(GroupEntity, group));
    await this.#changed();
    return group;
  }

  #refuse(group: Group, permission: Permission, allowed: boolean | undefined): void {
    if (group.id === 'admin') throw new HttpError(400, 'Admins hold every permission');
    if (!allowed) return;
    const guestMayHave = LEAST[permission.default] === 'guest';
    if (group.level === 'banned' || (group.level === 'guest' && !guestMayHave)) throw new HttpError(400, `The group ${group.name} cannot be given a permission to ${permission.label}`);
  }

  async #changed(): Promise<void> {
    await this.#cache.purge(accessTag);
    await this.refresh();
  }

  async #read(): Promise<void> {
    this.#now = await this.#cache.remember(KEY, [accessTag], async () => {
      const groups = await this.#data.all(sql<{ id: string; name: string; level: Level; builtIn: boolean }>`select id, name::text as name, level, built_in as "builtIn" from access_group order by id`);
      const rows = await this.#data.all(sql<{ key: string; allowed: boolean }>`select group_id || ' ' || permission as key, allowed from access_decision order by group_id, permission`);
      return snapshotOf(groups, new Map(rows.map(({ key, allowed }) => [key, allowed])));
    });
  }
}
