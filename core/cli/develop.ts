import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join, sep } from 'node:path';
import { EXTENSION, PROGRAM, SITE } from '../host/site.ts';
import type { Console } from './command.ts';

/** What a process takes over only by beginning anew; nobody edits it where the program is installed. */
const PROGRAM_FOLDERS = PROGRAM.includes(`${sep}node_modules${sep}`) ? [] : [join(PROGRAM, 'core')];

interface DevelopmentOptions {
  /** Install with lifelike content where nothing is installed yet. */
  readonly demo: boolean;
  /**
   * Settings of the server's process alone, by dotted key: they win over what is stored, and cannot be changed while it
   * runs.
   */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** What `parley dev` does, until it is interrupted. For commands that need no data. */
export async function develop({ demo, settings = {} }: DevelopmentOptions, console: Console): Promise<void> {
  const words = ['dev', '--settings', JSON.stringify(settings), ...(demo ? ['--demo'] : [])];
  for (let again = true; again;) {
    const child = spawn(process.execPath, [join(PROGRAM, `core/main${EXTENSION}`), ...words], { stdio: 'inherit' });
    again = await accompany(child, console);
  }
}

/** Resolves to whether the server shall run once more: its own code changed, or it ended by itself and a file changed. */
async function accompany(child: ChildProcess, console: Console): Promise<boolean> {
  // Needed here alone: every server imports this module, as a part of what plugins may use.
  const [{ watchedFolders }, { watchFiles }] = await Promise.all([
    import('../host/development/reloader.ts'),
    import('../host/development/watch-files.ts'),
  ]);
  const changed = Promise.withResolvers<'changed'>();
  const interrupted = Promise.withResolvers<'interrupted'>();
  const interrupt = (): void => interrupted.resolve('interrupted');
  // The terminal sends a signal to both; others send it to this process alone.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupt);
  const stops = [watchFiles(PROGRAM_FOLDERS, () => changed.resolve('changed'))];
  const ended = once(child, 'exit').then(([code]) => (code === 0 ? ('interrupted' as const) : ('failed' as const)));
  try {
    const first = await Promise.race([ended, changed.promise, interrupted.promise]);
    if (first === 'failed') {
      console.print('The server ended. It starts again when a file is saved; Ctrl+C gives up.');
      stops.push(watchFiles(watchedFolders(SITE), () => changed.resolve('changed')));
      return (await Promise.race([changed.promise, interrupted.promise])) === 'changed';
    }
    if (first === 'changed') console.print('The program itself changed: it starts anew.');
    child.kill('SIGTERM');
    await ended;
    return first === 'changed';
  } finally {
    for (const stop of stops) stop();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupt);
  }
}
