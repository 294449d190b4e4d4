import type { Logger } from '../logger.ts';
import type { Ref } from '../ref.ts';

/** Logs the plugins that use something deprecated: once per plugin and deprecated item for the life of the process. */
export class Deprecations {
  readonly #named = new Set<string>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  used(plugin: string, { kind, id, deprecated }: Pick<Ref<string, any>, 'kind' | 'id' | 'deprecated'>): void {
    const key = `${plugin} ${kind} ${id}`;
    if (deprecated === undefined || this.#named.has(key)) return;
    this.#named.add(key);
    this.#log.warn({ plugin, deprecated: `${kind} ${id}`, instead: deprecated }, 'uses something deprecated');
  }
}
