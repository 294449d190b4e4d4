import type { App } from './app.ts';

/** A rejection that nobody awaited: logged with the plugin its stack points to; the process goes on. */
export function logStray({ kernel, log }: Pick<App, 'kernel' | 'log'>, error: unknown): void {
  const lines = error instanceof Error ? (error.stack ?? '').split('\n') : [];
  const plugins = lines.flatMap((line) => kernel.graph.all().filter(({ folder }) => folder !== undefined && line.includes(`${folder}/`)));
  log.error({ plugin: plugins[0]?.id ?? 'unknown', error }, 'a rejected promise was not awaited; await it or catch it where it is made');
}
