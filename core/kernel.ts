import { Container } from './container.ts';
import type { Database } from './data.ts';
import { chainOf, PluginError } from './errors.ts';
import { Graph } from './graph.ts';
import { createHandle, type Parts } from './handle.ts';
import { defineAction } from './hooks.ts';
import type { Plugin } from './plugin.ts';
import type { Token, Tokens } from './ref.ts';
import { Authorizer, type Mount } from './routes.ts';

export type State = 'off' | 'starting' | 'active' | 'failed';

/** The kernel's only own action: a plugin started, stopped or failed in this process. */
export const pluginChanged = defineAction<{ readonly id: string; readonly state: State }>('plugin.changed');

interface Running {
  readonly plugin: Plugin;
  readonly undo: AsyncDisposableStack;
  readonly abort: AbortController;
  readonly mount: Mount;
}

export interface KernelOptions extends Parts {
  readonly data: Database;
  /** Services of the kernel itself, which plugins may need like any other. */
  readonly services: ReadonlyMap<Token<any>, unknown>;
  /** Kernel services that are made from the kernel, handed in by `provide` before the first plugin starts. */
  readonly late: readonly Token<any>[];
}

/** Starts and stops plugins; one change at a time. What should run is decided elsewhere (plugins.ts). */
export class Kernel {
  readonly graph: Graph;
  readonly #parts: KernelOptions;
  readonly #services = new Container();
  readonly #running = new Map<string, Running>();
  readonly #failures = new Map<string, unknown>();
  readonly #provided = new Map<string, unknown>();
  #starting: string | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: KernelOptions) {
    this.#parts = options;
    this.graph = new Graph([...options.services.keys(), ...options.late]);
    for (const [token, service] of options.services) this.#provided.set(token.id, service);
    options.hooks.own('kernel', [pluginChanged]);
    options.routes.authorizer = () => this.#provided.get(Authorizer.id) as Authorizer | undefined;
  }

  /** Makes plugins known without starting them. A bad definition throws, naming the plugin. */
  install(plugin: Plugin): void {
    this.graph.add(plugin);
    if (plugin.settings) {
      this.#parts.settings.define(plugin.id, plugin.settings);
      if (Object.values(plugin.settings.properties as Record<string, object>).some((property) => 'x-restart' in property)) this.#restartOnChange(plugin);
    }
    if (plugin.folder) this.#parts.supervisor.locate(plugin.id, plugin.folder);
  }

  state(id: string): State {
    if (this.#running.has(id)) return 'active';
    if (this.#starting === id) return 'starting';
    return this.#failures.has(id) ? 'failed' : 'off';
  }

  failure(id: string): unknown {
    return this.#failures.get(id);
  }

  active(): readonly string[] {
    return [...this.#running.keys()];
  }

  /** A running plugin's service, for commands and the kernel itself; undefined while its provider is off. */
  service<T>(token: Token<T>): T | undefined {
    return this.#provided.get(token.id) as T | undefined;
  }

  provide<T>(token: Token<T>, service: T): void {
    this.#provided.set(token.id, service);
  }

  /** Starts `id` and whatever it needs; resolves to the ids started, in order. Throws what kept it from starting. */
  enable(id: string): Promise<readonly string[]> {
    return this.#serially(async () => {
      const order = this.graph.startOrder(id).filter((step) => !this.#running.has(step));
      for (const step of order) await this.#start(step);
      for (const step of order) await this.#restart(this.graph.wanting(step).filter((other) => !order.includes(other)));
      return order;
    });
  }

  /** Stops `id` and whatever needs it, dependents first; resolves to the ids stopped, in order. */
  disable(id: string): Promise<readonly string[]> {
    return this.#serially(async () => {
      const stopped = this.graph.stopOrder(id).filter((step) => this.#running.has(step));
      for (const step of stopped) await this.#stop(step);
      this.#failures.delete(id);
      for (const step of stopped) await this.#restart(this.graph.wanting(step));
      return stopped;
    });
  }

  /** Stops and starts `id` and its dependents; requests that come meanwhile wait. */
  restart(id: string): Promise<void> {
    return this.#serially(() => this.#restart([id]));
  }

  /** Stops everything, dependents first. */
  async close(): Promise<void> {
    for (const id of this.active().toReversed()) await this.disable(id);
  }

  async #start(id: string, replaced?: Mount): Promise<void> {
    const { routes, data, log } = this.#parts;
    const plugin = this.graph.get(id);
    const undo = new AsyncDisposableStack();
    const abort = new AbortController();
    const mount = routes.draft(id);
    this.#starting = id;
    try {
      undo.defer(this.#parts.hooks.own(id, plugin.hooks ?? []));
      if (plugin.migrations?.length) await data.migrate(id, plugin.migrations);
      if (plugin.entities?.length) await data.discover(id, plugin.entities);
      const handle = createHandle(plugin, { undo, signal: abort.signal, mount }, this.#parts);
      const returned = await plugin.setup(this.#resolve(plugin, undo), handle);
      this.#publish(plugin, returned ?? {}, undo);
      routes.publish(mount, replaced);
      this.#running.set(id, { plugin, undo, abort, mount });
      this.#failures.delete(id);
    } catch (error) {
      abort.abort();
      await undo.disposeAsync().catch((cause: unknown) => log.error({ plugin: id, error: cause }, 'cleaning up after a failed start failed'));
      this.#parts.supervisor.forget(id);
      this.#failures.set(id, error);
      await this.#announce(id);
      throw new PluginError(id, `failed to start: ${chainOf(error)}`, { cause: error });
    } finally {
      this.#starting = undefined;
    }
    await this.#announce(id);
  }

  /** With `paused` the routes stay in the table, waiting for the plugin's return. */
  async #stop(id: string, paused = false): Promise<Mount | undefined> {
    const running = this.#running.get(id);
    if (!running) return undefined;
    const { undo, abort, mount } = running;
    this.#running.delete(id);
    abort.abort();
    if (paused) await this.#parts.routes.drain(mount);
    else await this.#parts.routes.withdraw(mount);
    try {
      await undo.disposeAsync();
    } catch (error) {
      this.#parts.log.error({ plugin: id, error }, 'stopping failed in part; what it left may need a restart of the process');
    }
    this.#parts.supervisor.forget(id);
    await this.#announce(id);
    return mount;
  }

  /** Whoever needs a restarted plugin is restarted with it, or it would keep the old service. */
  async #restart(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      if (!this.#running.has(id)) continue;
      const steps = this.graph.stopOrder(id).filter((step) => this.#running.has(step));
      const { promise, resolve } = Promise.withResolvers<void>();
      const mounts = new Map<string, Mount>();
      for (const step of steps) this.#running.get(step)!.mount.pause = promise;
      for (const step of steps) {
        const mount = await this.#stop(step, true);
        if (mount) mounts.set(step, mount);
      }
      for (const step of steps.toReversed()) {
        try {
          await this.#start(step, mounts.get(step));
          mounts.delete(step);
        } catch (error) {
          this.#parts.log.error({ plugin: step, error }, 'did not come back from a restart');
        }
      }
      for (const mount of mounts.values()) await this.#parts.routes.withdraw(mount, 0);
      resolve();
    }
  }

  #resolve(plugin: Plugin, undo: AsyncDisposableStack): Record<string, unknown> {
    const container = this.#services.child();
    undo.defer(() => container.close());
    const tokens = { ...plugin.needs, ...plugin.wants } as Tokens;
    for (const token of Object.values(tokens)) container.link(token, () => this.#provided.get(token.id));
    const missing = Object.values((plugin.needs ?? {}) as Tokens).find((token) => !this.#provided.has(token.id));
    if (missing) throw new PluginError(plugin.id, `needs "${missing.id}", whose provider is off; enable it first`);
    return Object.fromEntries(Object.entries(tokens).map(([name, token]) => [name, container.get(token)]));
  }

  #publish(plugin: Plugin, returned: Record<string, unknown>, undo: AsyncDisposableStack): void {
    for (const [name, token] of Object.entries((plugin.provides ?? {}) as Tokens)) {
      if (returned[name] === undefined) throw new PluginError(plugin.id, `promises "${name}" under \`provides\`, but setup did not return it`);
      this.#provided.set(token.id, returned[name]);
      undo.defer(() => void this.#provided.delete(token.id));
    }
  }

  #restartOnChange(plugin: Plugin): void {
    const properties = plugin.settings!.properties as Record<string, object>;
    this.#parts.settings.watch(plugin.id, (keys) => {
      // Not awaited: whoever changed the setting may itself be a request of this plugin, which the restart waits for.
      if (keys.some((key) => 'x-restart' in properties[key]!)) void this.restart(plugin.id);
    });
  }

  #announce(id: string): Promise<void> {
    return this.#parts.hooks.emit(pluginChanged, { id, state: this.state(id) });
  }

  #serially<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work, work);
    this.#queue = result.catch(() => undefined);
    return result;
  }
}
