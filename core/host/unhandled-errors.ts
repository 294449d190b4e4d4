import { realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { App } from './app.ts';
import { causesOf } from '../errors.ts';
import type { Kernel } from '../plugins/kernel.ts';

/** `EX_SOFTWARE` of sysexits.h: an internal error, after which a service manager should restart the process. */
export const FAULT = 70;

export type Core = Pick<App, 'kernel' | 'log' | 'plugins' | 'supervisor'>;

export interface UnhandledErrorsDeps {
  /** Lets requests and jobs in progress finish. */
  drain(): Promise<unknown>;
}

/**
 * Handles unhandled rejections and uncaught exceptions for the life of the process. Errors that occur while plugin
 * modules load are held back until the plugins are known: call the returned function then.
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
        `an exception was not caught, and could not be examined; the process exits with code ${FAULT}`,
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
 * An unhandled rejection affects only its own task: it is logged and counted for the plugin that its stack points to,
 * and the process continues.
 */
export function logUnhandledRejection({ kernel, plugins, supervisor, log }: Core, error: unknown): void {
  const plugin = culprit({ kernel, plugins, supervisor }, error);
  if (plugin !== undefined) supervisor.note(plugin, 'promises that are not awaited', error);
  log.error(
    { plugin: plugin ?? 'unknown', error },
    'a rejected promise was not awaited; await it or catch it where it is created',
  );
}

/**
 * An exception in a timer or an event emitter may have left work half done, and is likely to recur: the plugin
 * responsible is switched off in this process, with everything that needs it. Resolves to false if no plugin is
 * responsible, or one that the admin panel cannot do without: then the process is no longer reliable.
 */
export async function handleException({ kernel, plugins, supervisor, log }: Core, error: unknown): Promise<boolean> {
  const plugin = culprit({ kernel, plugins, supervisor }, error);
  if (plugin === undefined) {
    log.error(
      { error },
      `an exception was not caught, and no plugin is responsible; the process exits with code ${FAULT}`,
    );
    return false;
  }
  const survives = !plugins.required(plugin);
  if (survives && gone(kernel, plugin)) {
    const times = supervisor.left(plugin);
    if (times !== undefined)
      log.error(
        { plugin, error, times },
        'this plugin is off, but something it left behind keeps throwing; only a restart of the process stops that',
      );
    return true;
  }
  const consequence = survives
    ? 'it is switched off in this process'
    : `it is required, so the process exits with code ${FAULT}`;
  log.error(
    { plugin, error },
    `an exception in a timer or an event emitter of this plugin was not caught; ${consequence}`,
  );
  if (survives) await plugins.fail(plugin, error);
  return survives;
}

/**
 * Whether the plugin has been switched off, or is being switched off because of its fault. Anything it did not clean up
 * when it stopped, such as an interval, keeps running until the process ends, and should not flood the log.
 */
const gone = (kernel: Kernel, plugin: string): boolean =>
  kernel.failure(plugin) !== undefined || (kernel.state(plugin) === 'off' && kernel.ran(plugin));

/**
 * The plugin responsible: the outermost plugin in the stack, because it let through what inner ones threw. Plugins that
 * can be switched off are blamed first. If the stack names no code at all, as for an error on a connection without a
 * listener, it is the plugin that started the operation.
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

/** The stack lines of an error and its causes. Thrown errors may have anything in place of their properties. */
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

/** How stacks refer to files in a folder, including when it is a symbolic link. */
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
