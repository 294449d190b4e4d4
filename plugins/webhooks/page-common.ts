import type { Data, Hooks, PluginHandle, Request, Settings } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import type { Admin } from 'parley-forum/plugins/admin';
import type { Categories } from 'parley-forum/plugins/discussions';
import type { UrlGuard } from 'parley-forum/plugins/protection';
import type { Web } from 'parley-forum/plugins/web';
import type { DeliveryHistory } from './history/history.ts';
import type { Statistics } from './statistics/statistics.ts';
import type { WebhookStore } from './webhook-store.ts';

export interface PageDeps {
  readonly plugin: PluginHandle;
  readonly data: Data;
  readonly admin: Admin;
  readonly web: Web;
  readonly access: Access;
  readonly settings: Settings;
  readonly hooks: Hooks;
  readonly guard: UrlGuard;
  readonly webhooks: WebhookStore;
  readonly history: DeliveryHistory;
  readonly statistics: Statistics;
  readonly categories: Categories | undefined;
}

export const ROOT = '/admin/webhooks';

/** Tabs that link the pages; `current` is the path of one of them. */
export const tabs = (current: string): readonly object[] =>
  [
    ['webhooks:pages', ROOT],
    ['webhooks:history', `${ROOT}/history`],
    ['webhooks:statistics', `${ROOT}/stats`],
  ].map(([label, href]) => ({ label, href, current: href === current }));

/** The badge style of a status. */
export const badgeOf = (status: string): string =>
  ({ delivered: 'success', retrying: 'warning', failed: 'danger', blocked: 'danger' })[status] ?? '';

/** A query parameter as text; a repeated one is treated as absent. */
export function queryText(req: Request, name: string): string | undefined {
  const value = req.query[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The acting user, for the log. */
export const actorFields = ({
  id,
  username,
}: {
  readonly id: string | undefined;
  readonly username: string | undefined;
}): object => ({ actor: id, username });
