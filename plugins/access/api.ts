import { defineToken, type Permission } from '#core';

/** The ladder of rights; a group stands on one of its steps. Banned members see what guests see and may do nothing. */
export type Level = 'banned' | 'guest' | 'member' | 'moderator' | 'admin';

export interface Group {
  readonly id: string;
  readonly name: string;
  readonly level: Level;
  /** The five first groups, one per level, whose id is the level. They cannot be moved or deleted. */
  readonly builtIn: boolean;
}

/** Whoever makes a request. A snapshot taken when the request came in; hand it on as an argument. */
export interface Viewer {
  /** Undefined for guests. */
  readonly id: string | undefined;
  readonly username: string | undefined;
  readonly group: Group;
}

export const isGuest = (viewer: Viewer): boolean => viewer.id === undefined;
export const isStaff = (viewer: Viewer): boolean => viewer.group.level === 'moderator' || viewer.group.level === 'admin';
export const isAdmin = (viewer: Viewer): boolean => viewer.group.level === 'admin';

/** Whom something is for: everyone, those who are logged in, moderators and admins, or the named groups (and admins). */
export type Audience = 'everyone' | 'members' | 'staff' | readonly string[];

/** Cache tag of whatever depends on groups and permission decisions. */
export const accessTag = 'access';

/**
 * Groups and permissions. Everything synchronous reads a snapshot. It is exact for a request that called `refresh`
 * when it came in: a change is answered only after every process has dropped its snapshot.
 */
export interface Access {
  /** The one viewer that stands for all guests. */
  readonly guest: Viewer;
  /** Reads the snapshot again if a change has dropped it; a promise only then. Whatever identifies callers calls it first. */
  refresh(): Promise<void> | undefined;
  /** By level, then by name. */
  groups(): readonly Group[];
  group(id: string): Group | undefined;
  /** The built-in group of a level. */
  groupOf(level: Level): Group;
  /** By id or, regardless of case, by name. */
  findGroup(idOrName: string): Group | undefined;
  allows(viewer: Viewer, permission: Permission): boolean;
  admits(audience: Audience, viewer: Viewer): boolean;
  /** Equal for viewers who may see and do the same: the group's id. Keys for what is shared between members. */
  signature(viewer: Viewer): string;
  /** Grants or denies; `undefined` returns to the permission's default. 400 where the ladder forbids it: guests are given nothing, admins keep everything. */
  decide(groupId: string, permission: Permission, allowed: boolean | undefined): Promise<void>;
  /** Creates, or renames and moves, a group. 400 for a taken name. */
  saveGroup(group: { readonly id?: string; readonly name: string; readonly level: Level }): Promise<Group>;
}
export const Access = defineToken<Access>('Access');
