import type { PluginHandle, Request } from 'parley-forum';
import { groupText, type Group, type Viewer } from 'parley-forum/plugins/access';
import { phrase, type Wording } from 'parley-forum/plugins/web';
import type { Panel } from './panel.ts';

/** Dependencies of every page of the panel. */
export interface PanelDeps {
  readonly plugin: PluginHandle;
  readonly panel: Panel;
}

/** The name of a group. */
export const groupName = (group: Group): Wording => {
  const text = groupText(group);
  return text === undefined ? group.name : phrase(text);
};

/** The actor of a change, for the log: names change, ids do not. */
export const by = ({
  id,
  username,
}: Viewer): { readonly actor: string | undefined; readonly username: string | undefined } => ({ actor: id, username });

/** A query parameter as text that PostgreSQL can store; a repeated one counts as absent. */
export function queryText(req: Request, name: string): string {
  const value = req.query[name];
  return typeof value === 'string' ? value.replaceAll('\0', '') : '';
}
