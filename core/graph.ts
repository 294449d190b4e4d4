import { PluginError } from './errors.ts';
import type { Plugin } from './plugin.ts';
import type { Token, Tokens } from './ref.ts';

const ids = (tokens: Tokens | undefined): string[] => Object.values(tokens ?? {}).map((token: Token<unknown>) => token.id);

/** Who provides what, who needs whom. Pure: it looks only at definitions, never runs `setup`. */
export class Graph {
  readonly #plugins = new Map<string, Plugin>();
  readonly #providers = new Map<string, string>();
  readonly #builtIn: ReadonlySet<string>;

  /** `builtIn` are the services that the kernel itself provides. */
  constructor(builtIn: readonly Token<any>[] = []) {
    this.#builtIn = new Set(builtIn.map((token) => token.id));
  }

  add(plugin: Plugin): void {
    if (this.#plugins.has(plugin.id)) throw new PluginError(plugin.id, 'is installed twice; remove one of the two from the configuration');
    for (const token of ids(plugin.provides)) {
      const other = this.#builtIn.has(token) ? 'the kernel' : this.#providers.has(token) && `plugin "${this.#providers.get(token)}"`;
      if (other) throw new PluginError(plugin.id, `provides "${token}", which ${other} already provides; keep one of them`);
    }
    for (const token of ids(plugin.provides)) this.#providers.set(token, plugin.id);
    this.#plugins.set(plugin.id, plugin);
  }

  get(id: string): Plugin {
    const plugin = this.#plugins.get(id);
    if (!plugin) throw new PluginError(id, 'is not installed; put its folder under plugins/ and its id into the configuration');
    return plugin;
  }

  all(): readonly Plugin[] {
    return [...this.#plugins.values()];
  }

  /** The plugins `id` must have running, itself last. Throws on a missing provider or a cycle. */
  startOrder(id: string): string[] {
    const order: string[] = [];
    const visit = (current: string, path: readonly string[]): void => {
      if (order.includes(current)) return;
      if (path.includes(current)) throw new PluginError(id, `is part of a dependency cycle: ${[...path, current].join(' → ')}; make one of them a \`wants\``);
      for (const token of ids(this.get(current).needs)) {
        if (this.#builtIn.has(token)) continue;
        const provider = this.#providers.get(token);
        if (!provider) throw new PluginError(current, `needs "${token}", which no installed plugin provides; install one that does`);
        visit(provider, [...path, current]);
      }
      order.push(current);
    };
    visit(id, []);
    return order;
  }

  /** The plugins that need `id`, directly or not, in the order to stop them; `id` last. */
  stopOrder(id: string): string[] {
    const order: string[] = [];
    const visit = (current: string): void => {
      if (order.includes(current)) return;
      for (const dependent of this.#with('needs', current)) visit(dependent);
      order.push(current);
    };
    visit(id);
    return order;
  }

  /** The plugins that use a service of `id` when it is there. */
  wanting(id: string): string[] {
    return this.#with('wants', id);
  }

  #with(relation: 'needs' | 'wants', id: string): string[] {
    return [...this.#plugins.values()]
      .filter((plugin) => plugin.id !== id && ids(plugin[relation]).some((token) => this.#providers.get(token) === id))
      .map((plugin) => plugin.id);
  }
}
