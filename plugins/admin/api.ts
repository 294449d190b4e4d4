import {
  defineAction,
  defineExtensionPoint,
  defineFilter,
  definePermission,
  defineToken,
  type FieldProblem,
} from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Account } from 'parley-forum/plugins/accounts';
import { defineSlot, type PageHead, type View } from 'parley-forum/plugins/web';

/** May open the admin panel and see the state of the forum. */
export const administer = definePermission('admin.open', { label: 'open the admin panel', default: 'admin' });
/** May change what concerns the whole forum there, including its security. */
export const configure = definePermission('admin.configure', {
  label: 'view and change settings, enable and disable plugins, and retry failed jobs',
  default: 'admin',
});

/** An entry in the admin panel's navigation; the page itself is a route of the plugin on the `pages` surface. */
export interface AdminSection {
  readonly group: 'overview' | 'people' | 'content' | 'integrations' | 'system';
  readonly label: string;
  /** A path below /admin. */
  readonly href: string;
}
export const adminSections = defineExtensionPoint<AdminSection>(
  'admin.sections',
  'Entries of the admin panel’s navigation; each leads to a page of the plugin below `/admin`.',
  { order: 'The position within the entry’s group.' },
);

/** A card on the dashboard: a number or a state, with a link to the details. */
export interface AdminTile {
  readonly label: string;
  readonly href?: string;
  value(): Promise<{ readonly text: string; readonly state?: 'good' | 'warning' | 'bad' }>;
}
export const adminTiles = defineExtensionPoint<AdminTile>(
  'admin.tiles',
  'Cards on the admin dashboard: a number or a state, with a link to the details.',
  { order: 'The position on the dashboard.' },
);

/** A value that another plugin adds for each member in the administrators' list of members. */
export interface MemberColumn {
  /** The value's key in the `columns` of a member, for API clients. */
  readonly name: string;
  /** A text (`plugin:key`) shown before the value. */
  readonly label: string;
  /**
   * Loads the values for all members of a page at once, in order; undefined where there is nothing to show. After 1 s
   * the page is rendered without the column.
   */
  loadMany(
    members: readonly Pick<Account, 'id' | 'username'>[],
    viewer: Viewer,
  ): Promise<readonly (string | undefined)[]>;
}
export const memberColumns = defineExtensionPoint<MemberColumn>(
  'admin.members.columns',
  'Values shown for each member in the administrators’ list of members, next to name, address and group.',
  { order: 'The position among these values.' },
);

/**
 * Settings are about to be stored. Listeners prevent it by adding problems, by key, such as a requirement that the
 * administrator does not meet themselves.
 */
export const settingsSaving = defineFilter<
  readonly FieldProblem[],
  { readonly actor: string | undefined; readonly changes: Readonly<Record<string, unknown>> }
>('admin.settings-saving', 'abort');
/**
 * Settings were stored or reset to their defaults; raised in the transaction of the change. Never includes the values.
 */
export const settingsChanged = defineAction<{
  readonly actor: string | undefined;
  readonly keys: readonly string[];
  readonly reset: boolean;
}>('admin.settings-changed');
/** A plugin is about to be switched on or off; `others` stop with it. If switching fails, `pluginStayed` follows. */
export const pluginSwitched = defineAction<{
  readonly actor: string | undefined;
  readonly plugin: string;
  readonly on: boolean;
  readonly others: readonly string[];
}>('admin.plugin-switched');
/** A plugin could not be switched on or off and stays as it was. */
export const pluginStayed = defineAction<{ readonly actor: string | undefined; readonly plugin: string }>(
  'admin.plugin-stayed',
);
/** A quarantined part of a plugin is about to run again. */
export const pluginReleased = defineAction<{ readonly actor: string | undefined; readonly plugin: string }>(
  'admin.plugin-released',
);
/** Failed jobs were put back into the queue. */
export const workRetried = defineAction<{
  readonly actor: string | undefined;
  readonly listener: string;
  readonly count: number;
}>('admin.work-retried');

/** Wraps a plugin's own admin page in the panel's frame. */
export interface Admin {
  view(template: string, head: Omit<PageHead, 'name'>, model: object, status?: number): View;
}
export const Admin = defineToken<Admin>('Admin');

export const adminMember = defineSlot<Pick<Account, 'id' | 'username'>>(
  'admin.member',
  'Among the buttons of each member in the administrators’ list of members.',
);
