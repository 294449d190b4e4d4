import { didYouMean, PluginError } from '../errors.ts';
import { faultOf, type Plugin } from './definition.ts';
import type { Token, Tokens } from '../ref.ts';

const KERNEL = 'the kernel';
const ids = (tokens: Tokens | undefined): string[] =>
  Object.values(tokens ?? {}).map((token: Token<unknown>) => token.id);

/** How a plugin uses another's service: `needs` is required, `wants` is optional. */
type Relation = 'needs' | 'wants';
type Users = ReadonlyMap<string, readonly string[]>;

const owned = ({ extensionPoints, permissions, commands }: Plugin): string[] => [
  ...[...(extensionPoints ?? []), ...(permissions ?? [])].map(({ kind, id }) => `${kind} "${id}"`),
  ...(commands ?? []).map(({ name }) => `command "${name}"`),
];

/** Which plugin provides and which needs what. Pure: it only inspects definitions and never runs `setup`. */
export class Graph {
  readonly #plugins = new Map<string, Plugin>();
  /** Plugin ids by token id. */
  readonly #providers: Map<string, string>;
  /** Plugin ids by the name of anything that no two plugins may define. */
  readonly #owners = new Map<string, string>();
  /** The users of each plugin; recomputed after plugins were added or removed, as are the start orders. */
  #users: Readonly<Record<Relation, Users>> | undefined;
  readonly #startOrders = new Map<string, readonly string[]>();

  /** `builtIn` are the tokens of the services that the kernel itself provides. */
  constructor(builtIn: readonly Token<any>[] = []) {
    this.#providers = new Map(builtIn.map(({ id }) => [id, KERNEL]));
  }

  /** Throws an error naming the plugin if it conflicts with those added before. */
  check(plugin: Plugin): void {
    if (this.#plugins.has(plugin.id))
      throw new PluginError(plugin.id, 'is installed twice; remove one of the two from the configuration');
    const fault = faultOf(plugin);
    if (fault) throw fault;
    for (const token of ids(plugin.provides)) {
      const other = this.#providers.get(token);
      if (other)
        throw new PluginError(
          plugin.id,
          `provides "${token}", which ${other === KERNEL ? other : `plugin "${other}"`} already provides; keep one`,
        );
    }
    for (const what of owned(plugin)) {
      const other = this.#owners.get(what);
      if (other)
        throw new PluginError(
          plugin.id,
          `defines the ${what}, which plugin "${other}" already defines; give it another id`,
        );
    }
  }

  add(plugin: Plugin): void {
    this.check(plugin);
    for (const token of ids(plugin.provides)) this.#providers.set(token, plugin.id);
    for (const what of owned(plugin)) this.#owners.set(what, plugin.id);
    this.#plugins.set(plugin.id, plugin);
    this.#forget();
  }

  /** Forgets the plugin completely, so that another definition can take its place. */
  remove(id: string): void {
    this.#plugins.delete(id);
    this.#forget();
    for (const owners of [this.#providers, this.#owners])
      for (const [what, owner] of owners) if (owner === id) owners.delete(what);
  }

  get(id: string): Plugin {
    const plugin = this.#plugins.get(id);
    if (plugin) return plugin;
    const otherwise = 'put its folder under plugins/ and its id in the configuration; it is loaded on the next start';
    throw new PluginError(id, `is not installed; ${didYouMean(id, [...this.#plugins.keys()], otherwise)}`);
  }

  all(): readonly Plugin[] {
    return [...this.#plugins.values()];
  }

  /**
   * All plugins, each after the providers of the services that it needs or wants, so that none has to be restarted for
   * a plugin that starts later. If plugins want each other, one of them comes first regardless.
   */
  bootOrder(): readonly string[] {
    return inOrder([...this.#plugins.keys()], (current, path) => {
      const { needs, wants } = this.get(current);
      return [...ids(needs), ...ids(wants)]
        .flatMap((token) => this.#providers.get(token) ?? [])
        .filter((provider) => provider !== KERNEL && !path.includes(provider));
    });
  }

  /** The plugins that must run for `id` to run, itself last. Throws on a missing provider or a cycle. */
  startOrder(id: string): readonly string[] {
    const known = this.#startOrders.get(id);
    if (known) return known;
    const order = inOrder([id], (current, path) =>
      ids(this.get(current).needs).flatMap((token) => {
        const provider = this.#providers.get(token);
        if (!provider)
          throw new PluginError(current, `needs "${token}", which no installed plugin provides; install one that does`);
        if (path.includes(provider))
          throw new PluginError(
            id,
            `is part of a dependency cycle: ${[...path, provider].join(' → ')}; make one of them a \`wants\``,
          );
        return provider === KERNEL ? [] : provider;
      }),
    );
    this.#startOrders.set(id, order);
    return order;
  }

  /** The plugins that need `id`, directly or indirectly, in the order to stop them; `id` last. */
  stopOrder(id: string): string[] {
    return inOrder([id], (current, path) =>
      this.#with('needs', current).filter((dependent) => !path.includes(dependent)),
    );
  }

  /** The plugins that use a service of `id` if it is available. */
  wanting(id: string): readonly string[] {
    return this.#with('wants', id);
  }

  /** `id` and every plugin that holds a service of it, needed or only wanted, directly or indirectly. */
  holders(id: string): ReadonlySet<string> {
    const found = new Set([id]);
    for (const current of found)
      for (const other of [...this.#with('needs', current), ...this.#with('wants', current)]) found.add(other);
    return found;
  }

  #forget(): void {
    this.#users = undefined;
    this.#startOrders.clear();
  }

  #with(relation: Relation, id: string): readonly string[] {
    this.#users ??= { needs: this.#usersBy('needs'), wants: this.#usersBy('wants') };
    return this.#users[relation].get(this.get(id).id) ?? [];
  }

  #usersBy(relation: Relation): Users {
    const users = new Map<string, string[]>();
    for (const plugin of this.#plugins.values()) {
      const used = new Set(ids(plugin[relation]).map((token) => this.#providers.get(token)));
      for (const provider of used)
        if (provider !== undefined && provider !== plugin.id)
          users.set(provider, [...(users.get(provider) ?? []), plugin.id]);
    }
    return users;
  }
}

/**
 * Depth-first order of `first` and everything reachable through `next`, each after what it leads to. `path` starts with
 * an element of `first` and ends with the current one.
 */
function inOrder(
  first: readonly string[],
  next: (current: string, path: readonly string[]) => readonly string[],
): string[] {
  const order: string[] = [];
  const visit = (path: readonly string[]): void => {
    const current = path.at(-1)!;
    if (order.includes(current)) return;
    for (const step of next(current, path)) visit([...path, step]);
    order.push(current);
  };
  for (const id of first) visit([id]);
  return order;
}
