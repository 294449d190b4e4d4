import { defineCommand } from '../command.ts';
import { ConfigurationError } from '../../errors.ts';
import { Type } from '../../schema.ts';
import { sql } from '../../data/database.ts';
import { Program } from '../program.ts';

/**
 * Starting the program already migrates every plugin that is switched on; this command also retries those that failed
 * then, and lists the applied migrations.
 */
export const migrate = defineCommand({
  name: 'migrate',
  summary: 'Runs pending migrations of all plugins that are switched on.',
  options: Type.Object({}),
  needs: { app: Program },
  async run({ app }, _options, console) {
    const wanted = app.plugins
      .list()
      .filter((plugin) => plugin.wanted)
      .map(({ id }) => app.kernel.graph.get(id));
    for (const plugin of wanted) {
      for (const name of await app.data.migrate(plugin.id, plugin.migrations ?? []))
        console.print(`${plugin.id}: ${name}`);
    }
    const rows = await app.data.all(
      sql<{
        plugin: string;
        count: number;
      }>`select plugin, count(*)::int as count from migration group by plugin order by plugin`,
    );
    for (const { plugin, count } of rows)
      console.print(`${plugin}: ${count} ${count === 1 ? 'migration' : 'migrations'} applied`);
    const failed = app.plugins.list().find((plugin) => plugin.state === 'failed');
    if (failed) throw new ConfigurationError(`"${failed.id}" is not running: ${failed.problem}`);
  },
});
