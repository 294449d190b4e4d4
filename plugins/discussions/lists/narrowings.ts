import { sql, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { homeNarrowings, type Narrowing } from 'parley-forum/plugins/discussions';

interface Narrowed extends Omit<Narrowing, 'note'> {
  readonly notes: readonly Narrowing['note'][];
}

/** Milliseconds a plugin may take to say how it restricts the list. */
const NARROWING_TIMEOUT = 2_000;

/**
 * Combines the restrictions of all plugins on the front page's list; undefined if there are none. One that fails is
 * left out.
 */
export async function narrowingOf(
  plugin: Pick<PluginHandle, 'extensions' | 'attempt'>,
  viewer: Viewer,
): Promise<Narrowed | undefined> {
  const asked = await Promise.all(
    plugin
      .extensions(homeNarrowings)
      .map(({ plugin: owner, value }) =>
        plugin.attempt(owner, 'narrowing of the front page', () => value(viewer), NARROWING_TIMEOUT),
      ),
  );
  const found = asked.filter((one) => one !== undefined);
  if (found.length === 0) return undefined;
  const conditions = found.flatMap(({ where }) => (where ? [sql`(${where})`] : []));
  return {
    key: found.map(({ key }) => key).join(' '),
    without: found.flatMap(({ without }) => without),
    where: conditions.length > 0 ? sql<boolean>`${sql.join(conditions, sql` and `)}` : undefined,
    notes: found.map(({ note }) => note),
  };
}
