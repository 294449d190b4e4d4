import { sql, type Data } from './data/database.ts';
import { InvalidInput, PluginError, type FieldProblem } from './errors.ts';
import type { Cluster } from './cluster.ts';
import { defineToken, type Awaitable } from './ref.ts';
import { check, type Static, type TObject, type TSchema } from './schema.ts';
import type { Secrets } from './secrets.ts';

/** A setting as seen by forms, commands and `doctor`. */
export interface SettingInfo {
  readonly key: string;
  readonly plugin: string;
  readonly schema: TSchema;
  /** Encrypted in the database, and write-only. */
  readonly secret: boolean;
  /** Undefined for secrets. */
  readonly value: unknown;
  readonly default: unknown;
  /** Whether the database holds a value for it. */
  readonly stored: boolean;
}

/** Stored settings of all installed plugins, keyed by full dotted name. */
export interface Settings {
  get(key: string): unknown;
  /**
   * Validates all changes and stores either all or none. Resolves once they are in force in this process; inside a
   * transaction they take effect after the commit. Throws a 400 naming each invalid key.
   */
  set(changes: Readonly<Record<string, unknown>>): Promise<void>;
  /** Restores the defaults. */
  reset(keys: readonly string[]): Promise<void>;
  list(): readonly SettingInfo[];
}
export const Settings = defineToken<Settings>('Settings');

export interface SettingsDeps {
  readonly data: Data;
  secrets(): Secrets;
  readonly cluster: Cluster;
  /** Defaults from the configuration file; they replace the schemas' defaults, and stored values override them. */
  readonly configured?: Readonly<Record<string, unknown>> | undefined;
  /** Values this process was started with, which override the stored ones and cannot be changed while it runs. */
  readonly overrides?: Readonly<Record<string, unknown>> | undefined;
}

interface Watcher {
  readonly plugin: string;
  readonly run: (keys: readonly string[]) => Awaitable<void>;
}

/** Checks that a schema cannot express: returns a problem for each of these values, by key, that cannot be used. */
export type SettingsCheck = (values: Readonly<Record<string, unknown>>) => Awaitable<readonly FieldProblem[]>;
interface Checker {
  readonly plugin: string;
  readonly run: SettingsCheck;
}

/** Removes a default at the schema's root, where it has no effect and ajv rejects it. */
const bare = (schema: TSchema): TSchema =>
  Object.fromEntries(Object.entries(schema).filter(([keyword]) => keyword !== 'default'));

/**
 * The first default that its own schema rejects. Not checked when this program's own plugins are loaded, because that
 * would slow down every start.
 */
export function badDefault(plugin: string, settings: TObject | undefined): PluginError | undefined {
  for (const [key, schema] of Object.entries((settings?.properties ?? {}) as Record<string, TSchema>)) {
    const { default: value } = schema as { default?: unknown };
    const [problem] = value === undefined ? [] : problemsOf(key, { schema }, value);
    if (problem)
      return new PluginError(plugin, `defines the setting "${key}" with an invalid default: ${problem.message}`);
  }
  return undefined;
}

/** Keeps values in memory, backed by the database; other processes are told to reload. */
export class SettingsStore implements Settings {
  readonly #definitions = new Map<string, Omit<SettingInfo, 'key' | 'value' | 'stored'>>();
  readonly #watchers = new Set<Watcher>();
  readonly #moved = new Map<string, string>();
  readonly #checkers = new Set<Checker>();
  readonly #parts: SettingsDeps;
  #stored = new Map<string, unknown>();
  /** The number of the latest read, and the newest result in force, with the promise of notifying its watchers. */
  #asked = 0;
  #newest = { asked: 0, notified: Promise.resolve() };

  constructor(parts: SettingsDeps) {
    this.#parts = parts;
    parts.cluster.subscribe('settings', () => this.load());
  }

  /** Reads the database and notifies the watchers of whatever changed. */
  async load(): Promise<void> {
    const asked = ++this.#asked;
    const rows = await this.#parts.data.all(
      sql<{ key: string; value: unknown }>`select key, value from setting order by key`,
    );
    // Reads may overlap with changes here and in other processes: ignore the result of an earlier read that arrives
    // late.
    if (asked > this.#newest.asked)
      this.#newest = { asked, notified: this.#replace(new Map(rows.map(({ key, value }) => [key, value]))) };
    await this.#newest.notified;
  }

  async #replace(stored: Map<string, unknown>): Promise<void> {
    const before = this.#stored;
    this.#stored = stored;
    const changed = [...this.#definitions.keys()].filter(
      (key) => JSON.stringify(before.get(key)) !== JSON.stringify(this.#stored.get(key)),
    );
    for (const { plugin, run } of this.#watchers) {
      const own = changed.filter((key) => this.#definitions.get(key)!.plugin === plugin);
      if (own.length > 0) await run(own);
    }
  }

  /** Defines all of a plugin's settings, or none if one of them is invalid. */
  define(plugin: string, schema: TObject): void {
    const defined: Array<[string, Omit<SettingInfo, 'key' | 'value' | 'stored'>]> = [];
    for (const [key, property] of Object.entries(
      schema.properties as Record<string, TSchema & { default?: unknown; 'x-secret'?: boolean }>,
    )) {
      const other = this.#definitions.get(key);
      if (other)
        throw new PluginError(
          plugin,
          `defines the setting "${key}", which belongs to "${other.plugin}"; choose another key`,
        );
      const secret = property['x-secret'] === true;
      if (property.default === undefined && !secret)
        throw new PluginError(plugin, `defines the setting "${key}" without a default; give it one`);
      const configured = this.#parts.configured?.[key];
      const definition = { plugin, schema: property, secret, default: configured ?? property.default };
      const problems =
        configured === undefined ? [] : problemsOf(key, definition, configured).map(({ message }) => message);
      if (problems.length > 0)
        throw new PluginError(
          plugin,
          `has an invalid setting "${key}" in the configuration file: ${problems.join(', ')}`,
        );
      defined.push([key, definition]);
    }
    for (const [key, definition] of defined) this.#definitions.set(key, definition);
  }

  /** Removes a plugin's settings because it was removed or is being redefined. Stored values stay. */
  undefine(plugin: string): void {
    for (const [key, definition] of this.#definitions) if (definition.plugin === plugin) this.#definitions.delete(key);
  }

  /** Registers keys that are no longer settings, each with the environment variable that replaces it. */
  move(settings: Readonly<Record<string, string>>): void {
    for (const [key, variable] of Object.entries(settings)) this.#moved.set(key, variable);
  }

  /** Moved settings that the database still holds a value for, which is ignored. */
  moved(): readonly { readonly key: string; readonly variable: string }[] {
    return [...this.#moved].filter(([key]) => this.#stored.has(key)).map(([key, variable]) => ({ key, variable }));
  }

  /** Deprecated settings that the site's configuration or the database still sets, and what to use instead. */
  deprecated(): readonly { readonly key: string; readonly instead: string }[] {
    return [...this.#definitions].flatMap(([key, { schema }]) => {
      const instead = (schema as { 'x-deprecated'?: string })['x-deprecated'];
      const isSet = this.#stored.has(key) || this.#parts.configured?.[key] !== undefined;
      return instead !== undefined && isSet ? { key, instead } : [];
    });
  }

  /** Keys in the site's configuration that are not settings of any plugin that could be read. */
  unknown(): readonly string[] {
    return Object.keys(this.#parts.configured ?? {}).filter((key) => !this.#definitions.has(key));
  }

  /** Returns an object whose properties always read the current value. */
  live<S extends TObject>(schema: S): Static<S> {
    const values = {};
    for (const key of Object.keys(schema.properties))
      Object.defineProperty(values, key, { enumerable: true, get: () => this.get(key) });
    return Object.freeze(values) as Static<S>;
  }

  watch(plugin: string, run: Watcher['run']): () => void {
    const watcher = { plugin, run };
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  guard(plugin: string, run: SettingsCheck): () => void {
    const checker = { plugin, run };
    this.#checkers.add(checker);
    return () => void this.#checkers.delete(checker);
  }

  /** Problems with the values in force: a stored value may have been valid only when it was stored. */
  async problems(): Promise<readonly FieldProblem[]> {
    const shown = this.list().filter(({ secret }) => !secret);
    const values = Object.fromEntries(shown.map(({ key, value }) => [key, value]));
    return [...shown.flatMap(({ key, value }) => this.#problems(key, value)), ...(await this.#refusals(values))];
  }

  get(key: string): unknown {
    const override = this.#parts.overrides?.[key];
    if (override !== undefined) return override;
    const { secret, default: fallback } = this.#definitions.get(key) ?? {};
    const stored = this.#stored.get(key);
    if (stored === undefined) return fallback;
    return secret ? this.#parts.secrets().open(String(stored)) : stored;
  }

  async set(changes: Readonly<Record<string, unknown>>): Promise<void> {
    this.#refuseOverridden(Object.keys(changes));
    const problems = Object.entries(changes).flatMap(([key, value]) => this.#problems(key, value));
    if (problems.length > 0) throw new InvalidInput(problems);
    const refused = await this.#refusals(changes);
    if (refused.length > 0) throw new InvalidInput(refused);
    const kept = (key: string, value: unknown): unknown =>
      this.#definitions.get(key)!.secret ? this.#parts.secrets().seal(String(value)) : value;
    const rows = Object.entries(changes).map(([key, value]) => ({ key, value: kept(key, value) }));
    await this.#change(sql`insert into setting (key, value, updated_at) select r.key, coalesce(r.value, 'null'), now()
      from json_to_recordset(${JSON.stringify(rows)}::json) as r(key text, value jsonb)
      on conflict (key) do update set value = excluded.value, updated_at = excluded.updated_at`);
  }

  async reset(keys: readonly string[]): Promise<void> {
    this.#refuseOverridden(keys);
    await this.#change(sql`delete from setting where key = any(${keys}::text[])`);
  }

  list(): readonly SettingInfo[] {
    return [...this.#definitions].map(([key, definition]) => ({
      key,
      ...definition,
      stored: this.#stored.has(key),
      value: definition.secret ? undefined : this.get(key),
    }));
  }

  /** The stored value would differ from the one in force in this process, and nobody would see why. */
  #refuseOverridden(keys: readonly string[]): void {
    const fixed = keys.filter((key) => this.#parts.overrides?.[key] !== undefined);
    const message = 'cannot be changed while this server runs: it was started with its own value';
    if (fixed.length > 0) throw new InvalidInput(fixed.map((field) => ({ field, message })));
  }

  /** Changes become visible only after the current transaction commits. */
  async #change(statement: Parameters<Data['all']>[0]): Promise<void> {
    const { data, cluster } = this.#parts;
    await data.transaction(async () => {
      await data.all(statement);
      await data.afterCommit(() => this.load().finally(() => cluster.publish('settings')));
    });
  }

  /** Asks the plugins that own these settings to check them. */
  async #refusals(values: Readonly<Record<string, unknown>>): Promise<readonly FieldProblem[]> {
    const problems: FieldProblem[] = [];
    for (const { plugin, run } of this.#checkers) {
      const own = Object.fromEntries(
        Object.entries(values).filter(([key]) => this.#definitions.get(key)?.plugin === plugin),
      );
      if (Object.keys(own).length > 0) problems.push(...(await run(own)));
    }
    return problems;
  }

  #problems(key: string, value: unknown): readonly FieldProblem[] {
    const definition = this.#definitions.get(key);
    return definition
      ? problemsOf(key, definition, value)
      : [{ field: key, message: 'is not a setting of any installed plugin' }];
  }
}

function problemsOf(field: string, { schema }: Pick<SettingInfo, 'schema'>, value: unknown): readonly FieldProblem[] {
  const result = check(bare(schema), value);
  return result.ok ? [] : result.problems.map(({ message }) => ({ field, message }));
}
