import { defineCommand } from '../command.ts';
import { ConfigurationError } from '../../errors.ts';
import { Type } from '../../schema.ts';
import { sql } from '../../data/database.ts';
import { Program } from '../program.ts';

/** Starting the program already migrates every plugin that is switched on; this command also retries those that failed. */
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
    const failed = app.plugins.list().find((plugin) => plugin.state === 'failed');
    if (failed) throw new ConfigurationError(`"${failed.id}" is not running: ${failed.problem}`);
    const rows = await app.data.all(sql`select 1 from migration`);
    console.print(`All migrations have run, ${rows.length} in total.`);
  },
});
