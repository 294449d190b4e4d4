import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntitySchema } from '@mikro-orm/core';
import type { Migration } from '@mikro-orm/migrations';
import type { SqlEntityManager } from '@mikro-orm/sql';
import { sql, type RawBuilder } from 'kysely';
import type { Backend, Connection } from './connection.ts';
import { PluginError, messageOf } from './errors.ts';
import { Batch } from './hooks.ts';
import type { Logger } from './logger.ts';
import { defineToken } from './ref.ts';

export { defineEntity, p, LockMode, UniqueConstraintViolationException, type InferEntity } from '@mikro-orm/core';
export { Migration } from '@mikro-orm/migrations';
export { sql, type RawBuilder } from 'kysely';

export type EntityManager = SqlEntityManager;
// `any` because a list of entities mixes types; `defineEntity` checks each one.
export type EntityDefinition = EntitySchema<any, any, any>;
/** Recorded under its class name, which must be unique within its plugin and stay as it is. */
export type MigrationClass = (new (...args: any[]) => Migration) & { readonly name: string };

/** The database. Inside a transaction every method joins it, so that on the embedded single connection nothing waits for itself. */
export interface Data {
  /** True where the database runs in this process: one connection, one process. */
  readonly embedded: boolean;
  /** The transaction's, or a fresh fork. */
  em(): EntityManager;
  /**
   * Runs work in a transaction (a nested call joins the one under way), flushes the em, commits, then sends the actions
   * raised meanwhile and resolves when their listeners have settled. A throw rolls back and drops the actions.
   */
  transaction<T>(work: (em: EntityManager) => Promise<T>): Promise<T>;
  readonly inTransaction: boolean;
  /**
   * The rows of one statement, without the ORM's cost: for lists and for SQL. timestamptz is a `Date`, bigint and numeric
   * a number, jsonb parsed, date and interval text. Does not flush what the em still holds. Throws as the em does
   * (`UniqueConstraintViolationException`).
   */
  all<T>(query: RawBuilder<T>): Promise<T[]>;
  /** As `all`, the first row only. */
  one<T>(query: RawBuilder<T>): Promise<T | undefined>;
  /** How many statements this process has run, `begin` and `commit` included: tests assert that it does not grow with the rows. */
  readonly statements: number;
}
export const Data = defineToken<Data>('Data');

export interface DatabaseOptions {
  /** A PostgreSQL address; without it the embedded database is used. */
  readonly url?: string | undefined;
  /** DATA_DIR: the embedded database lives in its `database` folder. */
  readonly folder: string;
  readonly log: Logger;
  /** How many connections to a server at most. Default 10. */
  readonly pool?: number | undefined;
}

/** What takes part in every commit. `jobs.ts` stores durable work there. */
export interface CommitHook {
  /** Inside the transaction, after the flush. A throw rolls back. */
  before(batch: Batch): Promise<void>;
  /** Right after the commit. */
  after(batch: Batch): void;
}

interface Scope {
  readonly em: EntityManager;
  readonly batch: Batch;
  connection: Connection | undefined;
  /** False after commit or rollback: work that nobody awaited must not use the connection any more. */
  open: boolean;
}

/** The advisory lock under which one process at a time migrates; the number has no meaning. */
const MIGRATING = 7_216_002;
/** Milliseconds that `ready` waits for an answer. */
const READY = 2_000;

/** Holds the one ambient thing there is: the transaction under way and the actions raised in it. */
export class Database implements Data {
  readonly #backend: Backend;
  readonly #ambient: AsyncLocalStorage<Scope | undefined>;
  readonly #log: Logger;
  readonly #tables = new Map<string, { owner: string | undefined; definition: EntityDefinition }>();
  #hook: CommitHook | undefined;

  /** Use `connect`. */
  constructor(backend: Backend, ambient: AsyncLocalStorage<Scope | undefined>, log: Logger) {
    this.#backend = backend;
    this.#ambient = ambient;
    this.#log = log;
  }

  /** Throws `ConfigurationError` when the server cannot be reached or another process has the embedded database open. */
  static async connect({ url, folder, log, pool = 10 }: DatabaseOptions): Promise<Database> {
    const ambient = new AsyncLocalStorage<Scope | undefined>();
    const onBegin = (connection: Connection): void => {
      const scope = ambient.getStore();
      if (scope?.open && !scope.connection) scope.connection = connection;
    };
    // Imported when used: each brings a driver of its own, and PGlite's takes a while to load.
    const backend = url
      ? await (await import('./postgres.ts')).openPostgres(url, pool, log, onBegin)
      : await (await import('./embedded.ts')).openEmbedded(folder, onBegin);
    const database = new Database(backend, ambient, log);
    await database.#prepare();
    return database;
  }

  get embedded(): boolean {
    return this.#backend.embedded;
  }

  get inTransaction(): boolean {
    return this.#scope !== undefined;
  }

  get statements(): number {
    return this.#backend.statements;
  }

  em(): EntityManager {
    return this.#scope?.em ?? (this.#backend.orm.em.fork() as EntityManager);
  }

  batch(): Batch | undefined {
    return this.#scope?.batch;
  }

  useCommitHook(hook: CommitHook): void {
    this.#hook = hook;
  }

  async transaction<T>(work: (em: EntityManager) => Promise<T>): Promise<T> {
    const outer = this.#scope;
    if (outer) return work(outer.em);
    const scope: Scope = { em: this.em(), batch: new Batch(), connection: undefined, open: true };
    const result = await this.#ambient.run(scope, () => this.#run(scope, work));
    this.#hook?.after(scope.batch);
    await this.outside(() => scope.batch.send());
    return result;
  }

  /** Runs work that must not join the transaction under way, such as a worker's that happens to be woken in it. */
  outside<T>(work: () => T): T {
    return this.#ambient.run(undefined, work);
  }

  async all<T>(query: RawBuilder<T>): Promise<T[]> {
    const { sql: text, parameters } = query.compile(this.#backend.orm.em.getConnection().getClient());
    try {
      return await (this.#scope?.connection ?? this.#backend).query<T>(text, parameters);
    } catch (error) {
      throw this.#backend.orm.em.getPlatform().getExceptionConverter().convertException(error as Error);
    }
  }

  async one<T>(query: RawBuilder<T>): Promise<T | undefined> {
    return (await this.all(query))[0];
  }

  /** Live, and again at each start. A table that another plugin owns is refused; a changed definition replaces the old one. */
  async discover(plugin: string, entities: readonly EntityDefinition[]): Promise<void> {
    const fresh = new Map<string, EntityDefinition>();
    const stale: EntityDefinition[] = [];
    for (const definition of entities) {
      const table: string = definition.init().meta.tableName;
      const known = this.#tables.get(table);
      if (known?.owner !== undefined && known.owner !== plugin) {
        throw new PluginError(plugin, `has an entity on the table "${table}", which belongs to "${known.owner}"; give it a table of its own`);
      }
      if (known?.definition === definition) continue;
      fresh.set(table, definition);
      if (known) stale.push(known.definition);
    }
    if (fresh.size === 0) return;
    try {
      this.#backend.orm.discoverEntity([...fresh.values()], stale.map((definition) => definition.meta.class));
    } catch (error) {
      throw new PluginError(plugin, `has an entity that cannot be used: ${messageOf(error)}; correct it in its entities.ts`, { cause: error });
    }
    for (const [table, definition] of fresh) this.#tables.set(table, { owner: plugin, definition });
  }

  /** Runs what has not run yet, each in a transaction of its own, and returns the names. One process at a time. */
  async migrate(plugin: string, migrations: readonly MigrationClass[]): Promise<readonly string[]> {
    const repeated = migrations.find((one, at) => migrations.findIndex((other) => other.name === one.name) !== at);
    if (repeated) throw new PluginError(plugin, `lists two migrations named "${repeated.name}"; rename one of them`);
    const done = await this.#applied(plugin);
    const ran: string[] = [];
    for (const migration of migrations) {
      if (!done.has(migration.name) && (await this.#migrate(plugin, migration, 'up'))) ran.push(migration.name);
    }
    return ran;
  }

  /** Undoes what has run, last first, and lets go of the plugin's tables: the plugin is being uninstalled. */
  async migrateDown(plugin: string, migrations: readonly MigrationClass[]): Promise<void> {
    const done = await this.#applied(plugin);
    for (const migration of migrations.toReversed()) if (done.has(migration.name)) await this.#migrate(plugin, migration, 'down');
    for (const table of this.#tables.values()) if (table.owner === plugin) table.owner = undefined;
  }

  /** `run` also gets an empty payload after the connection was lost, when messages may have been missed. */
  listen(channel: string, run: (payload: string) => void): Promise<() => Promise<void>> {
    return this.#backend.listen(channel, run);
  }

  /** False when another process has claimed this database alone. Held until `close`, always true on the embedded one. */
  claimAlone(): Promise<boolean> {
    return this.#backend.claimAlone();
  }

  /** A stable id of this database, made with the kernel's tables. */
  async identity(): Promise<string> {
    const row = await this.one(sql<{ id: string }>`select id from installation order by id`);
    if (!row) throw new Error('the table "installation" is empty; restore the database from a backup');
    return row.id;
  }

  /** Rejects when the database does not answer within 2 s. */
  async ready(): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`the database did not answer within ${READY} ms`)), READY);
    await Promise.race([this.#backend.query('select 1', []), promise]).finally(() => clearTimeout(timer));
  }

  close(): Promise<void> {
    return this.#backend.close();
  }

  get #scope(): Scope | undefined {
    const scope = this.#ambient.getStore();
    return scope?.open ? scope : undefined;
  }

  async #run<T>(scope: Scope, work: (em: EntityManager) => Promise<T>): Promise<T> {
    await scope.em.begin();
    try {
      const result = await work(scope.em);
      await scope.em.flush();
      await this.#hook?.before(scope.batch);
      await scope.em.commit();
      return result;
    } catch (error) {
      // What went wrong first is what the caller must see; a connection that is gone has rolled back by itself.
      await scope.em.rollback().catch((cause: unknown) => this.#log.warn({ error: messageOf(cause) }, 'a transaction could not be rolled back'));
      throw error;
    } finally {
      scope.open = false;
    }
  }

  async #prepare(): Promise<void> {
    const found = await this.one(sql<{ found: boolean }>`select to_regclass('migration') is not null as found`);
    if (found?.found) return;
    await this.transaction(async () => {
      await this.all(sql`select pg_advisory_xact_lock(${MIGRATING})`);
      await this.all(sql`create table if not exists migration (plugin text not null, name text not null, run_at timestamptz not null default now(), primary key (plugin, name))`);
    });
  }

  async #applied(plugin: string): Promise<ReadonlySet<string>> {
    const rows = await this.all(sql<{ name: string }>`select name from migration where plugin = ${plugin}`);
    return new Set(rows.map((row) => row.name));
  }

  /** False when another process was faster. */
  async #migrate(plugin: string, migration: MigrationClass, direction: 'up' | 'down'): Promise<boolean> {
    try {
      return await this.transaction(async (em) => {
        await this.all(sql`select pg_advisory_xact_lock(${MIGRATING})`);
        await this.all(sql`select set_config('statement_timeout', '0', true)`);
        if ((await this.#applied(plugin)).has(migration.name) === (direction === 'up')) return false;
        await this.#statements(em, migration, direction);
        if (direction === 'up') await this.all(sql`insert into migration (plugin, name) values (${plugin}, ${migration.name})`);
        else await this.all(sql`delete from migration where plugin = ${plugin} and name = ${migration.name}`);
        return true;
      });
    } catch (error) {
      const remedy = direction === 'up' ? 'nothing of it was kept; correct it and enable the plugin again' : 'nothing of it was removed; correct its `down` and uninstall again';
      throw new PluginError(plugin, `migration "${migration.name}" failed: ${messageOf(error)}; ${remedy}`, { cause: error });
    } finally {
      this.#backend.forgetStatements();
    }
  }

  async #statements(em: EntityManager, definition: MigrationClass, direction: 'up' | 'down'): Promise<void> {
    const driver = this.#backend.orm.driver;
    const migration = new definition(driver, this.#backend.orm.config);
    migration.setTransactionContext(em.getTransactionContext()!);
    await migration[direction]();
    for (const query of migration.getQueries()) {
      if (typeof query === 'string') await this.#scope?.connection?.script(query);
      else await driver.execute(query as never, [], 'all', em.getTransactionContext()!);
    }
  }
}
