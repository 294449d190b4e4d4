import type { PluginHandle, Request } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Panel } from './panel.ts';

/** What every page of the panel is made with. */
export interface PanelDeps {
  readonly plugin: PluginHandle;
  readonly panel: Panel;
}

/** Who made a change, for the log: names change, ids do not. */
export const by = ({
  id,
  username,
}: Viewer): { readonly actor: string | undefined; readonly username: string | undefined } => ({ actor: id, username });

/** One query parameter as text that PostgreSQL can hold; a repeated one counts as absent. */
export function queryText(req: Request, name: string): string {
  const value = req.query[name];
  return typeof value === 'string' ? value.replaceAll('\0', '') : '';
}
