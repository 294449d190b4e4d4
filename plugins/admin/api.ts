import { defineExtensionPoint, definePermission, defineToken } from '#core';
import type { PageHead, View } from '#plugins/web';

/** May open the admin panel at all. */
export const administer = definePermission('admin.open', { label: 'open the admin panel', default: 'admin' });

/** An entry in the admin panel's navigation; the page itself is a route of the plugin on the `pages` surface. */
export interface AdminSection {
  readonly group: 'overview' | 'people' | 'content' | 'integrations' | 'system';
  readonly label: string;
  /** Under /admin. */
  readonly href: string;
}
export const adminSections = defineExtensionPoint<AdminSection>('admin.sections');

/** A card on the dashboard: a number or a state, with where to look. */
export interface AdminTile {
  readonly label: string;
  readonly href?: string;
  value(): Promise<{ readonly text: string; readonly state?: 'good' | 'warning' | 'bad' }>;
}
export const adminTiles = defineExtensionPoint<AdminTile>('admin.tiles');

/** The panel's shell around a plugin's own admin page. */
export interface Admin {
  view(template: string, head: Omit<PageHead, 'name'>, model: object, status?: number): View;
}
export const Admin = defineToken<Admin>('Admin');

