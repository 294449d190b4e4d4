import { sql, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { homeNarrowings, type Narrowing } from 'parley-forum/plugins/discussions';

/** What all plugins together leave of the front page's list; undefined where that is all of it. */
export async function narrowingOf(
  plugin: Pick<PluginHandle, 'extensions'>,
  viewer: Viewer,
): Promise<Narrowing | undefined> {
  const asked = await Promise.all(plugin.extensions(homeNarrowings).map(async ({ value }) => value(viewer)));
  const found = asked.filter((one) => one !== undefined);
  if (found.length === 0) return undefined;
  const where = () =>
    sql<boolean>`${sql.join(
      found.map((one) => sql`(${one.where()})`),
      sql` and `,
    )}`;
  return { key: found.map(({ key }) => key).join(' '), where };
}
