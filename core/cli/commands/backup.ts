import { resolve } from 'node:path';
import { Environment } from '../../environment.ts';
import { backUp } from '../../host/backup/backup.ts';
import { restore } from '../../host/backup/restore.ts';
import { loadPlugins } from '../../host/loader.ts';
import { readConfiguration, RUN, SITE } from '../../host/site.ts';
import { Type } from '../../schema.ts';
import { defineCommand, operated, type Command } from '../command.ts';
import { errorLines } from '../error-lines.ts';
import { Program } from '../program.ts';

const counted = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

const backup = defineCommand({
  name: 'backup',
  summary: 'Backs up the whole site to a file: a consistent snapshot of the database, and the contents of DATA_DIR.',
  example: 'backup ../site-2026-01-15.zip',
  positional: ['file'],
  options: Type.Object({ file: Type.String({ minLength: 1, description: 'A new file outside DATA_DIR' }) }),
  needs: { app: Program },
  async run({ app }, { file }, console) {
    const path = resolve(SITE, file);
    const { data, environment, hooks } = app;
    const { tables } = await backUp(path, { data, environment, progress: (line) => console.progress(line) });
    await hooks.emit(operated, { done: 'backed-up', subject: path });
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    console.print(`${path}: ${counted(tables.length, 'table', 'tables')}, ${counted(rows, 'row', 'rows')}`);
    console.print(
      environment.secretKey === undefined
        ? 'It contains the root key and every secret: store it where no one else can read it.'
        : 'Store it where no one else can read it, and SECRET_KEY somewhere else: secrets cannot be decrypted without it.',
    );
  },
});

const restoreCommand = defineCommand({
  name: 'restore',
  summary: 'Restores a site from a backup into an empty database and an empty DATA_DIR.',
  example: 'restore ../site-2026-01-15.zip',
  positional: ['file'],
  options: Type.Object({
    file: Type.String({ minLength: 1, description: 'A file written by `backup`, from either kind of database' }),
    without: Type.String({
      default: '',
      description: 'Comma-separated ids of plugins that are not installed here and whose tables to leave out',
    }),
  }),
  needs: { environment: Environment },
  async run({ environment }, { file, without }, console) {
    const configuration = await readConfiguration(SITE);
    const log = errorLines();
    const plugins = await loadPlugins(SITE, configuration.plugins, log);
    const path = resolve(SITE, file);
    const progress = (line: string): void => console.progress(line);
    const deps = { environment, plugins, without: without.split(',').filter(Boolean), log, progress };
    const { made_at: at, version, tables } = await restore(path, deps);
    console.print(
      `Restored ${counted(tables.length, 'table', 'tables')} from a backup of ${at}, made by Parley ${version}.`,
    );
    console.print(
      `To look at it first, without sending mails or webhooks: SAFE_MODE=1 npm start. To check counts: ${RUN} recount --check`,
    );
  },
});

/** Commands that back up and restore the whole site. */
export const backupCommands: readonly Command[] = [backup, restoreCommand];
