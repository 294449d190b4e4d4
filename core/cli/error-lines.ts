import { chainOf } from '../errors.ts';
import type { Logger } from '../logger.ts';

/**
 * Logger for commands: prints only errors, one line each, to standard error, so that standard output contains nothing
 * but the command's own output.
 */
export function errorLines(stream: { write(text: string): unknown } = process.stderr, plugin?: string): Logger {
  const nothing = (): void => undefined;
  return {
    debug: nothing,
    info: nothing,
    warn: nothing,
    error(fields, message) {
      const { plugin: named = plugin, error } = fields as { plugin?: string; error?: unknown };
      const cause = error === undefined ? '' : chainOf(error, named);
      stream.write(
        `${named ? `[${named}] ` : ''}${message}${cause === '' || message.includes(cause) ? '' : `: ${cause}`}\n`,
      );
    },
    child: (fields) => errorLines(stream, (fields as { plugin?: string }).plugin ?? plugin),
  };
}

/** The place in a folder where an error was thrown, as ` (dist/service.js:7)`; empty if it was thrown elsewhere. */
export function lineIn(folder: string, error: unknown): string {
  const stack = error instanceof Error ? error.stack : undefined;
  const [, place] = stack?.split(`${folder}/`)[1]?.match(/^([^?:\s]+(?:\?[^:\s]*)?:\d+)/) ?? [];
  return place ? ` (${place.replace(/\?[^:]*/, '')})` : '';
}
