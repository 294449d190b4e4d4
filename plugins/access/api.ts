import { defineAction, defineToken, type Permission, type RouteInfo } from 'parley-forum';

/** The ladder of rights; each group is on one of its steps. Banned members see what guests see and may do nothing. */
export type Level = 'banned' | 'guest' | 'member' | 'moderator' | 'admin';

/** The names of the built-in groups, by id. */
const FIRST_NAMES: Readonly<Record<string, string>> = {
  banned: 'Banned',
  guest: 'Guest',
  member: 'Member',
  moderator: 'Moderator',
  admin: 'Admin',
};
/** The text (`plugin:key`) with the name of a built-in group that was never renamed; undefined for other groups. */
export const groupText = ({ id, name }: Pick<Group, 'id' | 'name'>): string | undefined =>
  FIRST_NAMES[id] === name ? `access:group.${id}` : undefined;

export interface Group {
  readonly id: string;
  readonly name: string;
  readonly level: Level;
  /**
   * One of the five built-in groups. There is one per level, whose id is the level; they cannot be moved or deleted.
   */
  readonly builtIn: boolean;
}

interface Visitor {
  readonly group: Group;
  /** The unmet condition because of which a member of staff currently has only a member's rights. */
  readonly requirement?: Requirement;
}
/** A viewer who is logged in: the `actor` of routes that require a member. */
export interface Member extends Visitor {
  readonly id: string;
  readonly username: string;
}
/** A viewer who is not logged in. */
export interface Guest extends Visitor {
  readonly id: undefined;
  readonly username: undefined;
}
/** The caller of a request. A snapshot taken when the request came in; pass it on as an argument. */
export type Viewer = Member | Guest;

/** A condition that staff must meet to have the rights of their group. */
export interface Requirement {
  /** For API clients. */
  readonly code: string;
  /** One sentence that says what to do. */
  readonly message: string;
  /** The page where the condition can be met. */
  readonly path: string;
}

/** Whether a route's `can` admits a viewer, as far as that does not depend on the route's target. */
export const mayCall = (access: Access, viewer: Viewer, can: RouteInfo['can']): boolean =>
  can === 'public' || (can === 'member' ? !isGuest(viewer) : access.allows(viewer, can));

export const isGuest = (viewer: Viewer): viewer is Guest => viewer.id === undefined;
export const isStaff = (viewer: Viewer): boolean =>
  viewer.group.level === 'moderator' || viewer.group.level === 'admin';
export const isAdmin = (viewer: Viewer): boolean => viewer.group.level === 'admin';

/**
 * Whether the viewer may change accounts of this group. Admins may change all accounts, others those of groups they
 * outrank.
 */
export const mayChange = (access: Access, viewer: Viewer, group: Group | undefined): boolean =>
  isAdmin(viewer) || (group !== undefined && access.outranks(viewer, group));

/** The viewer's limit: five times as high for staff, who work through queues. */
export const limitFor = (viewer: Viewer, limit: number): number => (isStaff(viewer) ? limit * 5 : limit);

/** The key under which a member's uses are counted. */
export const memberKey = (id: string): string => `user:${id}`;
/** The key under which uses are counted: the viewer's own, or that of all guests at an address (`Limits.ipKey`). */
export const shareKey = (viewer: Viewer, ipKey: string): string =>
  viewer.id === undefined ? `ip:${ipKey}` : memberKey(viewer.id);

/** While it lasts, a member may read as before and do no more than guests. It ends by itself. */
export interface Suspension {
  readonly userId: string;
  readonly until: Date;
  /** Shown to the member. */
  readonly reason: string;
}

/** An audience: everyone, logged-in members, moderators and admins, or the named groups (and admins). */
export type Audience = 'everyone' | 'members' | 'staff' | readonly string[];

/**
 * A group was created, renamed or moved to another step of the ladder. Like the action below, raised in the transaction
 * of the change.
 */
export const groupSaved = defineAction<{
  readonly group: { readonly id: string; readonly name: string; readonly level: Level };
  readonly by?: string | undefined;
}>('access.group-saved');
/** A permission was granted to a group, denied, or reset to its default (`allowed` is absent). */
export const permissionDecided = defineAction<{
  readonly groupId: string;
  readonly permission: string;
  readonly allowed?: boolean | undefined;
  readonly by?: string | undefined;
}>('access.permission-decided');

/** Cache tag of everything that depends on groups and permission decisions. */
export const accessTag = 'access';

/**
 * Groups and permissions. All synchronous methods read a snapshot. It is up to date for a request that called `refresh`
 * when it came in, because a change is acknowledged only after every process has dropped its snapshot.
 */
export interface Access {
  /** The one viewer that stands for all guests. */
  readonly guest: Viewer;
  /** Sees and may do everything; for work that no member asked for. Its id belongs to no account. */
  readonly unrestricted: Viewer;
  /**
   * Reloads the snapshot if a change has dropped it, and returns a promise only then. Code that identifies callers must
   * call it first.
   */
  refresh(): Promise<void> | undefined;
  /** By level, then by name. */
  groups(): readonly Group[];
  group(id: string): Group | undefined;
  /** The built-in group of a level. */
  groupOf(level: Level): Group;
  /** By id or, regardless of case, by name. */
  findGroup(idOrName: string): Group | undefined;
  allows(viewer: Viewer, permission: Permission): boolean;
  /**
   * Like `allows`, but throws 403 for a viewer who would be allowed if they were not suspended, with the end and reason
   * of the suspension, and for a banned one, saying so.
   */
  admitted(viewer: Viewer, permission: Permission): boolean;
  admits(audience: Audience, viewer: Viewer): boolean;
  /** Whether the viewer is on a higher step of the ladder than the group, which is required to act on its members. */
  outranks(viewer: Viewer, group: Group): boolean;
  /** The suspension that currently keeps this member from writing. */
  suspension(userId: string | undefined): Suspension | undefined;
  /** Running suspensions, the next to end first. */
  suspensions(): readonly Suspension[];
  /**
   * Suspends a member, replacing a running suspension. The caller checks the permission; admins are never affected.
   * Throws 400 if the end is in the past.
   */
  suspend(suspension: Suspension): Promise<void>;
  /** Ends a suspension early; harmless if there is none. */
  release(userId: string): Promise<void>;
  /** Equal for viewers who may see and do the same. Use it in keys of what is shared between members. */
  signature(viewer: Viewer): string;
  /**
   * A viewer who stands for all viewers with the same rights, for what is rendered once for all of them: of the same
   * group, with an id that no account has. Guests stand for themselves; undefined if the rights are the account's own.
   */
  representative(viewer: Viewer): Viewer | undefined;
  /**
   * Grants or denies a permission; `undefined` resets it to its default. Here and below, `by` is the account that makes
   * the change, or `commandLine`. Throws 400 if the ladder forbids it: guests are given nothing, and admins keep
   * everything.
   */
  decide(groupId: string, permission: Permission, allowed: boolean | undefined, by?: string): Promise<void>;
  /** Creates a group, or renames and moves one. Throws 400 if the name is taken. */
  saveGroup(group: { readonly id?: string; readonly name: string; readonly level: Level }, by?: string): Promise<Group>;
}
export const Access = defineToken<Access>('Access');
