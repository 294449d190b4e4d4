import { sql, type Data } from './data.ts';
import { InvalidInput, PluginError, type FieldProblem } from './errors.ts';
import type { Fleet } from './fleet.ts';
import { defineToken } from './ref.ts';
import { check, type Static, type TObject, type TSchema } from './schema.ts';
import type { Secrets } from './secrets.ts';

/** One setting as forms, commands and `doctor` see it. */
export interface SettingInfo {
  readonly key: string;
  readonly plugin: string;
  readonly schema: TSchema;
  /** Undefined for a secret: it is write-only. */
  readonly value: unknown;
  readonly default: unknown;
  /** True when the database holds a value of its own. */
  readonly stored: boolean;
}

/** Stored settings of all installed plugins, by full dotted key. */
export interface Settings {
  get(key: string): unknown;
  /** Checks all, stores all or none, and is in force in this process when it resolves. 400 naming each key that is wrong. */
  set(changes: Readonly<Record<string, unknown>>): Promise<void>;
  /** Back to the defaults. */
  reset(keys: readonly string[]): Promise<void>;
  list(): readonly SettingInfo[];
}
export const Settings = defineToken<Settings>('Settings');

type Definition = Pick<SettingInfo, 'plugin' | 'schema' | 'default'>;

export interface SettingsParts {
  readonly data: Data;
  readonly secrets: Secrets;
  readonly fleet: Fleet;
  /** The first defaults, from the configuration file; the database wins over them. */
  readonly configured?: Readonly<Record<string, unknown>> | undefined;
}

type Watcher = (keys: readonly string[]) => void | Promise<void>;

/** Kept sealed. */
export const secret = (schema: TSchema | undefined): boolean => (schema as { 'x-secret'?: boolean } | undefined)?.['x-secret'] === true;
/** A default at a schema's root can fill in nothing, and ajv refuses it there. */
const bare = (schema: TSchema): TSchema => Object.fromEntries(Object.entries(schema).filter(([keyword]) => keyword !== 'default'));
const equal = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Values in memory, the database behind them; other processes are told to look again. */
export class SettingsStore implements Settings {
  readonly #definitions = new Map<string, Definition>();
  readonly #watchers = new Map<string, Set<Watcher>>();
  readonly #parts: SettingsParts;
  #stored = new Map<string, unknown>();

  constructor(parts: SettingsParts) {
    this.#parts = parts;
    parts.fleet.listen('settings', () => this.load());
  }

  /** Reads the database and tells the watchers of whatever differs from before. */
  async load(): Promise<void> {
    const rows = await this.#parts.data.all(sql<{ key: string; value: unknown }>`select key, value from setting order by key`);
    const before = this.#stored;
    this.#stored = new Map(rows.map(({ key, value }) => [key, value]));
    const keys = new Set([...before.keys(), ...this.#stored.keys()]);
    await this.#tell([...keys].filter((key) => !equal(before.get(key), this.#stored.get(key))));
  }

  define(plugin: string, schema: TObject): void {
    for (const [key, property] of Object.entries(schema.properties as Record<string, TSchema>)) {
      const other = this.#definitions.get(key);
      if (other) throw new PluginError(plugin, `defines the setting "${key}", which belongs to "${other.plugin}"; choose another key`);
      const fallback = (property as { default?: unknown }).default;
      if (fallback === undefined && !secret(property)) throw new PluginError(plugin, `defines the setting "${key}" without a default; give it one`);
      const configured = this.#parts.configured?.[key];
      this.#definitions.set(key, { plugin, schema: property, default: configured ?? fallback });
      const problems = configured === undefined ? [] : this.#problems(key, configured).map(({ message }) => message);
      if (problems.length > 0) throw new PluginError(plugin, `has a bad setting "${key}" in the configuration file: ${problems.join(', ')}`);
    }
  }

  /** An object whose properties always read the value in force. */
  live<S extends TObject>(schema: S): Static<S> {
    const values = {};
    for (const key of Object.keys(schema.properties)) Object.defineProperty(values, key, { enumerable: true, get: () => this.get(key) });
    return Object.freeze(values) as Static<S>;
  }

  watch(plugin: string, run: Watcher): () => void {
    const set = this.#watchers.get(plugin) ?? new Set();
    this.#watchers.set(plugin, set.add(run));
    return () => void set.delete(run);
  }

  get(key: string): unknown {
    const { schema, default: fallback } = this.#definitions.get(key) ?? {};
    const stored = this.#stored.get(key);
    if (stored === undefined) return fallback;
    return secret(schema) ? this.#parts.secrets.open(String(stored)) : stored;
  }

  async set(changes: Readonly<Record<string, unknown>>): Promise<void> {
    const problems = Object.entries(changes).flatMap(([key, value]) => this.#problems(key, value));
    if (problems.length > 0) throw new InvalidInput(problems);
    const { data, secrets } = this.#parts;
    await data.transaction(async () => {
      for (const [key, value] of Object.entries(changes)) {
        const kept = secret(this.#definitions.get(key)!.schema) ? secrets.seal(String(value)) : value;
        await data.all(sql`insert into setting (key, value, updated_at) values (${key}, ${JSON.stringify(kept)}::jsonb, now())
          on conflict (key) do update set value = excluded.value, updated_at = excluded.updated_at`);
      }
    });
    await this.#changed();
  }

  async reset(keys: readonly string[]): Promise<void> {
    await this.#parts.data.all(sql`delete from setting where key = any(${keys}::text[])`);
    await this.#changed();
  }

  list(): readonly SettingInfo[] {
    return [...this.#definitions].map(([key, definition]) => ({
      key, ...definition, stored: this.#stored.has(key), value: secret(definition.schema) ? undefined : this.get(key),
    }));
  }

  async #changed(): Promise<void> {
    await this.load();
    await this.#parts.fleet.announce('settings');
  }

  async #tell(keys: readonly string[]): Promise<void> {
    const byPlugin = Map.groupBy(keys, (key) => this.#definitions.get(key)?.plugin ?? '');
    for (const [plugin, changed] of byPlugin) for (const run of this.#watchers.get(plugin) ?? []) await run(changed);
  }

  #problems(key: string, value: unknown): readonly FieldProblem[] {
    const definition = this.#definitions.get(key);
    if (!definition) return [{ field: key, message: 'is not a setting of any installed plugin' }];
    const result = check(bare(definition.schema), value);
    return result.ok ? [] : result.problems.map(({ message }) => ({ field: key, message }));
  }
}
