import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join, sep } from 'node:path';
import { EXTENSION, PROGRAM, SITE } from '../host/site.ts';
import type { Console } from './command.ts';

/**
 * Folders whose changes require a restart of the process; nobody edits them if the program is installed as a package.
 */
const PROGRAM_FOLDERS = PROGRAM.includes(`${sep}node_modules${sep}`) ? [] : [join(PROGRAM, 'core')];

interface DevelopmentOptions {
  /** Install with demo content if nothing is installed yet. */
  readonly demo: boolean;
  /**
   * Settings for the server process only, by dotted key: they override stored settings and cannot be changed while it
   * runs.
   */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** Runs `parley dev` until interrupted. For commands that need no data. */
export async function develop({ demo, settings = {} }: DevelopmentOptions, console: Console): Promise<void> {
  const words = ['dev', '--settings', JSON.stringify(settings), ...(demo ? ['--demo'] : [])];
  for (let again = true; again;) {
    const child = spawn(process.execPath, [join(PROGRAM, `core/main${EXTENSION}`), ...words], { stdio: 'inherit' });
    again = await accompany(child, console);
  }
}

/**
 * Resolves to whether the server should be restarted: because its own code changed, or because it exited and a file
 * changed.
 */
async function accompany(child: ChildProcess, console: Console): Promise<boolean> {
  // Imported lazily: every server loads this module as part of the plugin API, but only this function needs these.
  const [{ watchedFolders }, { watchFiles }] = await Promise.all([
    import('../host/development/reloader.ts'),
    import('../host/development/watch-files.ts'),
  ]);
  const changed = Promise.withResolvers<'changed'>();
  const interrupted = Promise.withResolvers<'interrupted'>();
  const interrupt = (): void => interrupted.resolve('interrupted');
  // The terminal signals both processes; other senders signal only this one.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupt);
  const stops = [watchFiles(PROGRAM_FOLDERS, () => changed.resolve('changed'))];
  const ended = once(child, 'exit').then(([code]) => (code === 0 ? ('interrupted' as const) : ('failed' as const)));
  try {
    const first = await Promise.race([ended, changed.promise, interrupted.promise]);
    if (first === 'failed') {
      console.print('The server exited. It restarts when a file is saved; press Ctrl+C to stop.');
      stops.push(watchFiles(watchedFolders(SITE), () => changed.resolve('changed')));
      return (await Promise.race([changed.promise, interrupted.promise])) === 'changed';
    }
    if (first === 'changed') console.print('The program itself changed: restarting.');
    child.kill('SIGTERM');
    await ended;
    return first === 'changed';
  } finally {
    for (const stop of stops) stop();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupt);
  }
}
