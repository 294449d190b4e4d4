import type { Container } from './container.ts';
import type { Database } from '../data/database.ts';
import { chainOf, ConfigurationError, PluginError } from '../errors.ts';
import { Graph } from './graph.ts';
import { Deprecations } from './deprecations.ts';
import { assertContracts } from './fit.ts';
import { createHandle, type KernelDeps, type Scope } from './handle.ts';
import { pluginChanged, type PluginState } from './actions.ts';
import { unusable, type Plugin } from './definition.ts';
import type { Token, Tokens } from '../ref.ts';
import type { Mount } from '../http/routes.ts';
import { inTime } from './supervisor.ts';

export interface KernelAndServices extends KernelDeps {
  readonly data: Database;
  /** Resolves the kernel's own services, which plugins may need like any other. */
  readonly container: Container;
  /** The tokens of the kernel's own services. */
  readonly offered: readonly Token<any>[];
}

/** Starts and stops plugins, one change at a time. Which plugins should run is decided elsewhere (desired-state.ts). */
export class Kernel {
  readonly graph: Graph;
  readonly #parts: KernelAndServices;
  /** In the order in which they started. */
  readonly #running = new Map<string, Scope>();
  /** Stopped plugins that are about to start again. */
  readonly #returning = new Set<string>();
  readonly #failures = new Map<string, unknown>();
  /** Plugins that have been started in this process, whether they still run or not. */
  readonly #ran = new Set<string>();
  /** By plugin, the function that stops watching its settings. */
  readonly #watches = new Map<string, () => void>();
  /** Services of running plugins, by token id. */
  readonly #provided = new Map<string, unknown>();
  readonly #deprecations: Deprecations;
  /** Token ids of the kernel's own services. */
  readonly #offered: ReadonlySet<string>;
  #queue: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: KernelAndServices) {
    this.#parts = options;
    this.#deprecations = new Deprecations(options.log);
    this.graph = new Graph(options.offered);
    this.#offered = new Set(options.offered.map(({ id }) => id));
  }

  /**
   * Registers a plugin without starting it. A plugin with an invalid definition is registered too, and fails with the
   * reason when it is to start.
   */
  install(plugin: Plugin): void {
    const { settings, log } = this.#parts;
    settings.move(plugin.movedSettings ?? {});
    try {
      this.graph.check(plugin);
      if (plugin.settings) settings.define(plugin.id, plugin.settings);
      this.graph.add(plugin);
    } catch (error) {
      log.error({ plugin: plugin.id, error }, 'cannot be used');
      if (!this.graph.all().some(({ id }) => id === plugin.id)) this.graph.add(unusable(plugin, error));
      return;
    }
    if (!plugin.settings) return;
    const stop = settings.watch(plugin.id, (keys) => {
      // Not awaited: the setting may have been changed by a request to this very plugin, and the restart waits for that
      // request.
      if (keys.some((key) => 'x-restart' in (plugin.settings!.properties as Record<string, object>)[key]!))
        void this.restart(plugin.id);
    });
    this.#watches.set(plugin.id, stop);
  }

  /** Forgets a plugin that is not running; its stored data stays. */
  remove(id: string): void {
    if (this.#running.has(id)) throw new PluginError(id, 'is on; switch it off before removing it');
    this.#watches.get(id)?.();
    this.#watches.delete(id);
    this.#failures.delete(id);
    this.#ran.delete(id);
    this.#parts.settings.undefine(id);
    this.graph.remove(id);
  }

  state(id: string): PluginState {
    if (this.#running.has(id) || this.#returning.has(id)) return 'active';
    return this.#failures.has(id) ? 'failed' : 'off';
  }

  failure(id: string): unknown {
    return this.#failures.get(id);
  }

  /** Whether the plugin has been started in this process. Its module's code may run even if it never was. */
  ran(id: string): boolean {
    return this.#ran.has(id);
  }

  active(): readonly string[] {
    return [...this.#running.keys()];
  }

  /** A service of the kernel or of a running plugin; undefined while its provider is off. */
  service<T>(token: Token<T>): T | undefined {
    return this.#offered.has(token.id) ? this.#parts.container.get<T>(token.id) : (this.#provided.get(token.id) as T);
  }

  /** Like `service`, but throws an error naming the token if nothing provides it. */
  demand<T>(token: Token<T>): T {
    const found = this.service(token);
    if (found === undefined)
      throw new ConfigurationError(`No running plugin provides "${token.id}"; is its plugin switched on?`);
    return found;
  }

  /**
   * Starts `id` and everything it needs; resolves to the ids started, in order, or to an empty list after `close`.
   * Throws the reason if a plugin could not start.
   */
  enable(id: string): Promise<readonly string[]> {
    return this.#serially(async () => {
      if (this.#closed) return [];
      const order = this.graph.startOrder(id).filter((step) => !this.#running.has(step));
      for (const step of order) await this.#start(step);
      await this.#cycle(order.flatMap((step) => this.graph.wanting(step)).filter((other) => !order.includes(other)));
      return order;
    });
  }

  /** Stops `id` and everything that needs it, dependents first; resolves to the ids stopped, in order. */
  disable(id: string): Promise<readonly string[]> {
    return this.#serially(async () => {
      const stopped = await this.#cycle([id], this.graph.stopOrder(id));
      this.#failures.delete(id);
      return stopped;
    });
  }

  /**
   * Like `disable`, for a plugin that harms the process, even if only its module has run: it counts as failed with this
   * reason until someone switches it on again.
   */
  fail(id: string, reason: unknown): Promise<readonly string[]> {
    return this.#serially(async () => {
      if (!this.#running.has(id)) {
        if (!this.#ran.has(id)) this.#failures.set(id, reason);
        return [];
      }
      // Set before stopping, so that listeners to the stop find the reason.
      this.#failures.set(id, reason);
      return this.#cycle([id], this.graph.stopOrder(id));
    });
  }

  /** Stops and starts `id` and its dependents; requests that arrive meanwhile wait. */
  restart(id: string): Promise<void> {
    return this.#serially(async () => void (await this.#cycle([id])));
  }

  /** Like `restart`, but the plugins come back with other definitions, such as newer versions. */
  replace(...plugins: readonly Plugin[]): Promise<void> {
    const ids = plugins.map(({ id }) => id);
    const exchange = (): void => {
      for (const id of ids) this.remove(id);
      for (const plugin of plugins) this.install(plugin);
    };
    return this.#serially(async () => void (await this.#cycle(ids, [], exchange)));
  }

  /**
   * Stops everything for good, in reverse start order, so that each plugin stops before the providers of its services
   * and none restarts.
   */
  close(): Promise<void> {
    return this.#serially(async () => {
      this.#closed = true;
      for (const id of this.active().toReversed()) await this.#stop(id);
    });
  }

  async #start(id: string, replaced?: Mount): Promise<void> {
    const { hooks, routes, data, supervisor } = this.#parts;
    const plugin = this.graph.get(id);
    const mount: Mount = { plugin: id, entries: [], surfaces: [], pending: 0, pause: undefined, withdrawn: false };
    const container = this.#parts.container.child();
    const scope: Scope = {
      container,
      undo: new AsyncDisposableStack(),
      offers: new DisposableStack(),
      additions: [],
      abort: new AbortController(),
      mount,
    };
    scope.undo.defer(() => container.close());
    supervisor.begin(id);
    try {
      if (plugin.fault !== undefined) throw plugin.fault;
      assertContracts(plugin, this.graph.all());
      scope.undo.defer(hooks.own(id, plugin.hooks ?? []));
      await data.migrate(id, plugin.migrations ?? []);
      if (plugin.entities?.length) await data.discover(id, plugin.entities);
      const setup = async (): Promise<unknown> =>
        supervisor.within(id, () =>
          plugin.setup(this.#resolve(plugin, container), createHandle(plugin, scope, this.#deprecations, this.#parts)),
        );
      const returned = await inTime(setup, supervisor.limits.setup, 'its setup');
      this.#publish(plugin, (returned ?? {}) as Record<string, unknown>, scope);
      routes.publish(mount, replaced);
      this.#running.set(id, scope);
      this.#ran.add(id);
      const { additions } = scope;
      scope.additions = undefined;
      for (const add of additions ?? []) add();
      this.#failures.delete(id);
    } catch (error) {
      if (replaced) routes.withdraw(replaced);
      await this.#end(id, scope);
      this.#failures.set(id, error);
      // Its own errors already name the plugin.
      if (error instanceof PluginError && error.plugin === id) throw error;
      throw new PluginError(id, `failed to start: ${chainOf(error, id)}`, { cause: error });
    } finally {
      this.#returning.delete(id);
      await hooks.emit(pluginChanged, { id, state: this.state(id) });
    }
  }

  /** Until the plugin's requests have drained it counts as running, so that its views and texts stay available. */
  async #stop(id: string): Promise<void> {
    const { hooks, routes } = this.#parts;
    const scope = this.#running.get(id)!;
    const returns = scope.mount.pause !== undefined;
    scope.abort.abort();
    // While a plugin restarts, its routes stay in the table, and requests wait for its return.
    if (!returns) routes.withdraw(scope.mount);
    await routes.drain(scope.mount);
    await this.#end(id, scope);
    this.#running.delete(id);
    if (returns) this.#returning.add(id);
    else await hooks.emit(pluginChanged, { id, state: this.state(id) });
  }

  async #end(id: string, { undo, offers, abort }: Scope): Promise<void> {
    const { supervisor, log } = this.#parts;
    abort.abort();
    offers.dispose();
    await supervisor.idle(id);
    await undo.disposeAsync().catch((error: unknown) => {
      log.error(
        { plugin: id, error },
        'stopping failed in part; cleaning up what is left may need a restart of the process',
      );
    });
    supervisor.forget(id);
  }

  /**
   * Stops these plugins and everything that holds one of their services, which would be outdated, in reverse start
   * order. Then runs `between` and starts all but `leaving` again. Resolves to the ones that stay stopped.
   */
  async #cycle(
    ids: readonly string[],
    leaving: readonly string[] = [],
    between?: () => void,
  ): Promise<readonly string[]> {
    const holders = new Set(ids.flatMap((id) => [...this.graph.holders(id)]));
    const steps = this.active()
      .filter((id) => holders.has(id))
      .toReversed();
    const returning = steps.filter((id) => !leaving.includes(id)).map((id) => this.#running.get(id)!.mount);
    const { promise, resolve } = Promise.withResolvers<void>();
    for (const mount of returning) mount.pause = promise;
    for (const step of steps) await this.#stop(step);
    between?.();
    for (const mount of returning.toReversed()) {
      const fail = (error: unknown): void =>
        this.#parts.log.error({ plugin: mount.plugin, error }, 'did not start again after a restart');
      await this.#start(mount.plugin, mount).catch(fail);
    }
    resolve();
    return steps.filter((id) => leaving.includes(id));
  }

  /** The services that the plugin needs, and those it wants that are available. */
  #resolve(plugin: Plugin, container: Container): Record<string, unknown> {
    const missing = Object.values((plugin.needs ?? {}) as Tokens).find((token) => this.service(token) === undefined);
    if (missing) throw new PluginError(plugin.id, `needs "${missing.id}", whose provider is off; enable it first`);
    const services: Record<string, unknown> = {};
    for (const [name, token] of Object.entries({ ...plugin.needs, ...plugin.wants } as Tokens)) {
      this.#deprecations.used(plugin.id, token);
      const provided = this.#provided.get(token.id);
      if (provided !== undefined) container.define(token.id, () => provided);
      services[name] = container.has(token.id) ? container.get(token.id) : undefined;
    }
    return services;
  }

  #publish(plugin: Plugin, returned: Record<string, unknown>, { container, undo }: Scope): void {
    for (const [name, { id }] of Object.entries((plugin.provides ?? {}) as Tokens)) {
      if (returned[name] === undefined)
        throw new PluginError(plugin.id, `declares "${name}" under \`provides\`, but setup did not return it`);
      container.define(id, () => returned[name]);
      this.#provided.set(id, container.get(id));
      undo.defer(() => void this.#provided.delete(id));
    }
  }

  #serially<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work, work);
    this.#queue = result.catch(() => undefined);
    return result;
  }
}
