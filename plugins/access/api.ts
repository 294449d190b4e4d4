import { defineAction, defineToken, type Permission, type RouteInfo } from 'parley-forum';

/** The ladder of rights; a group stands on one of its steps. Banned members see what guests see and may do nothing. */
export type Level = 'banned' | 'guest' | 'member' | 'moderator' | 'admin';

/** The names of the first groups, by their ids. */
const FIRST_NAMES: Readonly<Record<string, string>> = {
  banned: 'Banned',
  guest: 'Guest',
  member: 'Member',
  moderator: 'Moderator',
  admin: 'Admin',
};
/** The text (`plugin:key`) of the name of a first group that nobody has renamed; undefined for others, whose names are their own. */
export const groupText = ({ id, name }: Pick<Group, 'id' | 'name'>): string | undefined =>
  FIRST_NAMES[id] === name ? `access:group.${id}` : undefined;

export interface Group {
  readonly id: string;
  readonly name: string;
  readonly level: Level;
  /** The five first groups, one per level, whose id is the level. They cannot be moved or deleted. */
  readonly builtIn: boolean;
}

interface Visitor {
  readonly group: Group;
  /** Why a member of staff has a member’s rights for now, and where they change that. */
  readonly requirement?: Requirement;
}
/** A viewer who is logged in: the `actor` of routes that are for members. */
export interface Member extends Visitor {
  readonly id: string;
  readonly username: string;
}
/** A viewer who is not. */
export interface Guest extends Visitor {
  readonly id: undefined;
  readonly username: undefined;
}
/** Who makes a request. A snapshot taken when the request came in; hand it on as an argument. */
export type Viewer = Member | Guest;

/** A condition that staff must meet to have the rights of their group. */
export interface Requirement {
  /** For programs. */
  readonly code: string;
  /** One sentence that says what to do. */
  readonly message: string;
  /** The page where it is done. */
  readonly path: string;
}

/** Whether a route's `can` lets a viewer in, as far as that does not depend on what the route is about. */
export const mayCall = (access: Access, viewer: Viewer, can: RouteInfo['can']): boolean =>
  can === 'public' || (can === 'member' ? !isGuest(viewer) : access.allows(viewer, can));

export const isGuest = (viewer: Viewer): viewer is Guest => viewer.id === undefined;
export const isStaff = (viewer: Viewer): boolean =>
  viewer.group.level === 'moderator' || viewer.group.level === 'admin';
export const isAdmin = (viewer: Viewer): boolean => viewer.group.level === 'admin';

/** Whether the viewer may change accounts of this group: admins those of all, others those that stand below them. */
export const mayChange = (access: Access, viewer: Viewer, group: Group | undefined): boolean =>
  isAdmin(viewer) || (group !== undefined && access.outranks(viewer, group));

/** What of a limited thing this viewer may have: staff, who work through queues, five times as much as others. */
export const limitFor = (viewer: Viewer, limit: number): number => (isStaff(viewer) ? limit * 5 : limit);

/** What counts as a member's share of a limited thing. */
export const memberKey = (id: string): string => `user:${id}`;
/** Whose share it is: the viewer's own, or that of all guests at an address (`Limits.ipKey`). */
export const shareKey = (viewer: Viewer, ipKey: string): string =>
  viewer.id === undefined ? `ip:${ipKey}` : memberKey(viewer.id);

/** While it lasts, a member may read what they may read, and do no more than guests. Ends by itself. */
export interface Suspension {
  readonly userId: string;
  readonly until: Date;
  /** Shown to the member. */
  readonly reason: string;
}

/**
 * Whom something is for: everyone, those who are logged in, moderators and admins, or the named groups (and admins).
 */
export type Audience = 'everyone' | 'members' | 'staff' | readonly string[];

/**
 * A group was made, renamed or moved to another step of the ladder. Raised, as below, in the transaction of the change.
 */
export const groupSaved = defineAction<{
  readonly group: { readonly id: string; readonly name: string; readonly level: Level };
  readonly by?: string | undefined;
}>('access.group-saved');
/** A permission was granted to a group, denied, or went back to its default (`allowed` is absent). */
export const permissionDecided = defineAction<{
  readonly groupId: string;
  readonly permission: string;
  readonly allowed?: boolean | undefined;
  readonly by?: string | undefined;
}>('access.permission-decided');

/** Cache tag of what depends on groups and permission decisions. */
export const accessTag = 'access';

/**
 * Groups and permissions. Everything synchronous reads a snapshot. It is exact for a request that called `refresh`
 * when it came in: a change is answered only after every process has dropped its snapshot.
 */
export interface Access {
  /** The one viewer that stands for all guests. */
  readonly guest: Viewer;
  /**
   * Sees and may do everything, for work that nobody asked for. It is nobody: its id belongs to no account.
   */
  readonly unrestricted: Viewer;
  /**
   * Reads the snapshot again if a change has dropped it; a promise only then. Whatever identifies callers calls it
   * first.
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
   * As `allows`; a viewer who would be allowed but for a suspension gets 403 with its end and reason, a banned one 403
   * that says so.
   */
  admitted(viewer: Viewer, permission: Permission): boolean;
  admits(audience: Audience, viewer: Viewer): boolean;
  /** Whether the viewer stands on a higher step of the ladder than the group: only then may they act on those in it. */
  outranks(viewer: Viewer, group: Group): boolean;
  /** What keeps this member from writing now. */
  suspension(userId: string | undefined): Suspension | undefined;
  /** Those that last, the next to end first. */
  suspensions(): readonly Suspension[];
  /**
   * In place of one that lasts. Who may is for the caller to check; admins are never held up by it. 400 for a moment
   * that is past.
   */
  suspend(suspension: Suspension): Promise<void>;
  /** Before its time; harmless where there is none. */
  release(userId: string): Promise<void>;
  /** Equal for viewers who may see and do the same. Keys for what is shared between members. */
  signature(viewer: Viewer): string;
  /**
   * Someone who stands for all with the viewer's rights, for what is rendered once for all of them: of the same group,
   * with an id that no account has. Guests stand for themselves; undefined where rights are the account's own.
   */
  representative(viewer: Viewer): Viewer | undefined;
  /**
   * Grants or denies; `undefined` returns to the permission's default. `by`, here and below: the account that does it,
   * or `commandLine`. 400 where the ladder forbids it: guests are given nothing, admins keep everything.
   */
  decide(groupId: string, permission: Permission, allowed: boolean | undefined, by?: string): Promise<void>;
  /** Creates, or renames and moves, a group. 400 for a taken name. */
  saveGroup(group: { readonly id?: string; readonly name: string; readonly level: Level }, by?: string): Promise<Group>;
}
export const Access = defineToken<Access>('Access');
