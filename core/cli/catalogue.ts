import type { Command } from './command.ts';
import type { Plugin } from '../plugins/definition.ts';
import { backupCommands } from './commands/backup.ts';
import { dev } from './commands/dev.ts';
import { doctor } from './commands/doctor.ts';
import { migrate } from './commands/migrate.ts';
import { newSite } from './commands/new.ts';
import { pluginCommands } from './commands/plugin.ts';
import { recount } from './commands/recount.ts';
import { settingCommands } from './commands/setting.ts';
import type { Entry } from './parse.ts';

const KERNEL: readonly Command[] = [
  newSite,
  dev,
  doctor,
  migrate,
  recount,
  ...backupCommands,
  ...pluginCommands,
  ...settingCommands,
];

/** The kernel's own commands, then those of all installed plugins, running or not. */
export function catalogue(plugins: readonly Plugin[]): readonly Entry[] {
  return [
    ...KERNEL.map((command) => ({ command, owner: 'Running the site' })),
    ...plugins.flatMap((plugin) =>
      (plugin.commands ?? []).map((command) => ({ command, owner: plugin.name ?? plugin.id })),
    ),
  ];
}
