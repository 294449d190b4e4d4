import { realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { App } from './app.ts';
import { causesOf } from '../errors.ts';
import type { Kernel } from '../plugins/kernel.ts';

/** `EX_SOFTWARE` of sysexits.h: the program itself is at fault, so a service manager should start it anew. */
export const FAULT = 70;

export type Core = Pick<App, 'kernel' | 'log' | 'plugins' | 'supervisor'>;

export interface UnhandledErrorsDeps {
  /** Lets what is under way finish. */
  drain(): Promise<unknown>;
}

/**
 * Hears of what was thrown where nobody could catch it, for as long as the process lives. What comes while the modules
 * of plugins are read waits until it is known which plugins there are: the returned function is to be called then.
 */
export function watchUnhandledErrors({ drain }: UnhandledErrorsDeps): (opened: Core) => void {
  let core: Core | undefined;
  const early: { readonly error: unknown; readonly handle: (known: Core) => void }[] = [];
  let ending = false;
  const end = async (): Promise<void> => {
    if (ending) return;
    ending = true;
    await drain().catch(() => undefined);
    process.exit(FAULT);
  };
  const handle = async (known: Core, error: unknown): Promise<void> => {
    let survives = false;
    try {
      survives = await handleException(known, error);
    } catch (failure) {
      known.log.error(
        { error: failure },
        `an exception was caught nowhere, and cannot be looked into; the process ends with code ${FAULT}`,
      );
    } finally {
      if (!survives) await end();
    }
  };
  const hear = (error: unknown, handling: (known: Core) => void): void => {
    if (core) handling(core);
    else early.push({ error, handle: handling });
  };
  process.on('unhandledRejection', (reason) => hear(reason, (known) => logUnhandledRejection(known, reason)));
  process.on('uncaughtException', (error) => hear(error, (known) => void handle(known, error)));
  process.once('exit', () => {
    if (early.length === 0) return;
    for (const { error } of early) console.error(error);
    process.exitCode = FAULT;
  });
  return (opened) => {
    core = opened;
    for (const { handle: run } of early.splice(0)) run(opened);
  };
}

/**
 * A rejection that nobody awaited leaves only its own task undone: it is logged and counted with the plugin its stack
 * points to, and the process goes on.
 */
export function logUnhandledRejection({ kernel, plugins, supervisor, log }: Core, error: unknown): void {
  const plugin = culprit({ kernel, plugins, supervisor }, error);
  if (plugin !== undefined) supervisor.note(plugin, 'promises that nobody awaits', error);
  log.error(
    { plugin: plugin ?? 'unknown', error },
    'a rejected promise was not awaited; await it or catch it where it is made',
  );
}

/**
 * An exception in a timer or an emitter may have left half of something done, and will come again: the plugin that let
 * it through is switched off in this process, with what needs it. False where none is to blame, or one that the panel
 * cannot do without: then the process cannot be relied on any more.
 */
export async function handleException({ kernel, plugins, supervisor, log }: Core, error: unknown): Promise<boolean> {
  const plugin = culprit({ kernel, plugins, supervisor }, error);
  if (plugin === undefined) {
    log.error(
      { error },
      `an exception was caught nowhere, and no plugin is to blame; the process ends with code ${FAULT}`,
    );
    return false;
  }
  const survives = !plugins.required(plugin);
  if (survives && gone(kernel, plugin)) {
    const times = supervisor.left(plugin);
    if (times !== undefined)
      log.error(
        { plugin, error, times },
        'this plugin is off, and something it left behind goes on throwing; only a restart of the process ends that',
      );
    return true;
  }
  const consequence = survives
    ? 'it is switched off in this process'
    : `it has to run, so the process ends with code ${FAULT}`;
  log.error(
    { plugin, error },
    `an exception in a timer or an event emitter of this plugin was caught nowhere; ${consequence}`,
  );
  if (survives) await plugins.fail(plugin, error);
  return survives;
}

/**
 * Whether it was switched off, or is being so for its fault. What it did not clear when it stopped, such as an
 * interval, goes on for as long as the process does, and shall not fill the log.
 */
const gone = (kernel: Kernel, plugin: string): boolean =>
  kernel.failure(plugin) !== undefined || (kernel.state(plugin) === 'off' && kernel.ran(plugin));

/**
 * The plugin that called last of all, from outside in: it let through what others threw at it. One that can be switched
 * off is blamed first. Where no code is named, as of a connection nobody listens to, it is the plugin that began it.
 */
function culprit({ kernel, plugins, supervisor }: Omit<Core, 'log'>, error: unknown): string | undefined {
  const lines = stackOf(error).toReversed();
  if (lines.every((line) => line.includes('node:'))) return supervisor.current;
  const folders = kernel.graph
    .all()
    .flatMap(({ id, folder }) => (folder === undefined ? [] : [{ id, places: placesOf(folder) }]));
  const found = lines.flatMap((line) =>
    folders.filter(({ places }) => places.some((place) => line.includes(place))).map(({ id }) => id),
  );
  return found.find((id) => !plugins.required(id)) ?? found[0];
}

/** The stack of an error, and of what caused it. Whoever threw it may have put anything in their place. */
function stackOf(error: unknown): readonly string[] {
  return causesOf(error).flatMap((cause) => {
    const stack = cause instanceof Error ? stackTextOf(cause) : '';
    return stack.split('\n').filter((line) => line.trimStart().startsWith('at '));
  });
}

function stackTextOf(error: Error): string {
  try {
    return String(error.stack ?? '');
  } catch {
    return '';
  }
}

/** How stacks name what lies in a folder, also in one that is linked to. */
function placesOf(folder: string): readonly string[] {
  const real = realpath(folder);
  return [...new Set([folder, real])].flatMap((path) => [`${path}/`, `${pathToFileURL(path).href}/`]);
}

function realpath(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}
