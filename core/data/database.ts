import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { EntitySchema, MikroORM } from '@mikro-orm/core';
import type { Migration } from '@mikro-orm/migrations';
import type { AbstractSqlDriver, SqlEntityManager } from '@mikro-orm/sql';
import { sql, type ControlledTransaction, type Kysely, type RawBuilder } from 'kysely';
import { PluginError, chainOf, messageOf } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { defineToken } from '../ref.ts';

/** Re-exported from MikroORM: entities, and the property builders `p`. */
export { defineEntity, p, UniqueConstraintViolationException } from '@mikro-orm/core';
/** Re-exported from MikroORM: each file in `migrations/` exports a class that extends it. */
export { Migration } from '@mikro-orm/migrations';
/** Re-exported from Kysely: SQL in which every value is a bound parameter. */
export { sql, type RawBuilder } from 'kysely';

/**
 * Marks a statement on a table that may grow a thousandfold within seconds, so that it is planned on each execution. A
 * cached plan from when the table was small would scan the whole table.
 */
export const PLANNED_EACH_TIME = '/* planned each time */';

/** The type of `data.em()`: a transaction's rows as objects, written when it commits. */
export type EntityManager = SqlEntityManager;
// `any` because a list of entities mixes types; `defineEntity` checks each one.
export type EntityDefinition = EntitySchema<any, any, any>;
/** Recorded under its class name, which must be unique within its plugin and must not change. */
export type MigrationClass = (new (...args: any[]) => Migration) & { readonly name: string };

/**
 * The database. Inside a transaction every method joins it, so that nothing deadlocks on the single connection of the
 * embedded database.
 */
export interface Data {
  /** Whether the database runs inside this process, with a single connection and for this process only. */
  readonly embedded: boolean;
  /** The entity manager of the current transaction, or a new fork. */
  em(): EntityManager;
  /**
   * Runs work in a transaction (a nested call joins the current one), flushes the entity manager, commits, then emits
   * the actions raised meanwhile and resolves when their listeners have settled. If `work` throws, the transaction is
   * rolled back and the actions are dropped. A transaction that the server rolls back because of another one is
   * retried, at most twice, so `work` must not have side effects outside the database that cannot be repeated.
   */
  transaction<T>(work: (em: EntityManager) => Promise<T>): Promise<T>;
  readonly inTransaction: boolean;
  /**
   * Waits until no other transaction, in any process, holds the lock of this name, then holds it until the end of the
   * current transaction: for anything that has to be counted or looked up before it is added to. Throws outside of a
   * transaction. The name starts with the plugin's id: `boats:harbour 7`. Must be taken before rows are locked.
   */
  lock(name: string): Promise<void>;
  /**
   * Runs `work` after the current transaction has committed, in the order of these calls, and drops it on rollback;
   * outside of a transaction runs it at once. Resolves when the work is done or, in a transaction, as soon as it is
   * queued.
   */
  afterCommit(work: () => Promise<void>): Promise<void>;
  /**
   * Returns the rows of one statement without the overhead of the ORM: for lists and for plain SQL. timestamptz is
   * returned as a `Date`, bigint and numeric as a number, jsonb parsed, date and interval as text. Does not flush
   * pending changes of the entity manager. Throws the same errors as the entity manager
   * (`UniqueConstraintViolationException`).
   */
  all<T>(query: RawBuilder<T>): Promise<T[]>;
  /** Like `all`, but returns only the first row. */
  one<T>(query: RawBuilder<T>): Promise<T | undefined>;
  /** A stable id of this database, generated together with the kernel's tables. */
  identity(): Promise<string>;
  /**
   * How many statements this process has run, including `begin` and `commit`: tests assert that it does not grow with
   * the number of rows.
   */
  readonly statements: number;
}
export const Data = defineToken<Data>('Data');

/** Work that belongs to a transaction besides its statements, dropped on rollback. */
export interface Batch {
  /** Produce the last statements of the transaction, after the flush; a failure rolls it back. */
  readonly lastStatements: Array<() => readonly RawBuilder<unknown>[]>;
  /** Called right after the commit. */
  readonly committed: Array<() => void>;
  /** Run after that, one after the other: the actions raised in the transaction. */
  readonly afterCommit: Array<() => Promise<void>>;
}

/** An open database connection, and the differences between the embedded database and a server. */
export interface DatabaseDriver {
  readonly embedded: boolean;
  readonly orm: MikroORM<AbstractSqlDriver>;
  /** Counts every statement since the start, including the ORM's. */
  readonly usage: { readonly statements: number };
  /** Runs a read outside of transactions, bypassing the ORM's client. */
  query(text: string, values: readonly unknown[]): Promise<{ rows: unknown[] }>;
  /** Runs the last statement of a transaction; the driver may send the following `commit` along with it. */
  thenCommit<T>(statement: () => Promise<T>): Promise<T>;
  claimAlone(): Promise<boolean>;
  /**
   * Called after each migration, which may have changed the result types of prepared statements or created types that
   * the driver has to learn.
   */
  migrated(): Promise<void>;
  close(): Promise<void>;
}

interface Scope {
  readonly em: EntityManager;
  readonly batch: Batch;
  readonly transaction: ControlledTransaction<unknown>;
  /** False after commit or rollback: work that was not awaited must not use the connection any more. */
  open: boolean;
}

/** Key of the advisory lock that lets only one process migrate at a time; the number has no meaning. */
const MIGRATING = 7_216_002;
/**
 * Upper bounds, in milliseconds, of the random delays before a retry; random so that the same two transactions do not
 * collide again.
 */
const AGAIN = [50, 250];
/** SQLSTATE codes of rollbacks caused by concurrent transactions: serialization failure and deadlock. */
const ROLLED_BACK = new Set<unknown>(['40001', '40P01']);
const REMEDY = {
  up: 'it was rolled back; fix it and enable the plugin again',
  down: 'it was rolled back; its `down` must undo what ran before, so fix it and uninstall again',
};

/** The names of applied migrations missing from this list: they belong to a newer version, or their files are gone. */
const missingOf = (ran: readonly string[], migrations: readonly MigrationClass[]): readonly string[] =>
  ran.filter((name) => !migrations.some((one) => one.name === name));
const missingText = (names: readonly string[]): string =>
  `${names.map((name) => `"${name}"`).join(', ')} ran before, but the plugin no longer has a migration of that name: what it created stays and cannot be undone without it; restore its file, or install the version that has it`;

/** Holds the only ambient state there is: the current transaction and the actions raised in it. */
export class Database implements Data {
  readonly embedded: boolean;
  readonly #backend: DatabaseDriver;
  readonly #client: Kysely<unknown>;
  readonly #log: Logger;
  #underWay = 0;
  readonly #ambient = new AsyncLocalStorage<Scope | undefined>();
  readonly #tables = new Map<string, { owner: string | undefined; definition: EntityDefinition }>();

  constructor(backend: DatabaseDriver, log: Logger) {
    this.embedded = backend.embedded;
    this.#backend = backend;
    this.#client = backend.orm.em.getConnection().getClient();
    this.#log = log;
  }

  get inTransaction(): boolean {
    return this.#scope !== undefined;
  }

  /**
   * The number of transactions, and of statements outside of transactions, that are running or waiting for a connection
   * or a retry.
   */
  get underWay(): number {
    return this.#underWay;
  }

  get statements(): number {
    return this.#backend.usage.statements;
  }

  em(): EntityManager {
    return this.#scope?.em ?? (this.#backend.orm.em.fork() as EntityManager);
  }

  async lock(name: string): Promise<void> {
    if (!this.inTransaction) throw new Error(`The lock "${name}" is requested outside a transaction`);
    // The embedded database has a single connection, which the transaction holds.
    if (!this.embedded) await this.all(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`);
  }

  /** The batch of the current transaction; undefined outside of one. */
  batch(): Batch | undefined {
    return this.#scope?.batch;
  }

  async afterCommit(work: () => Promise<void>): Promise<void> {
    const batch = this.batch();
    if (!batch) return work();
    batch.afterCommit.push(work);
  }

  async transaction<T>(work: (em: EntityManager) => Promise<T>): Promise<T> {
    const outer = this.#scope;
    if (outer) return work(outer.em);
    const { result, batch } = await this.#again(async () => {
      const fresh: Batch = { lastStatements: [], committed: [], afterCommit: [] };
      // The connection is always released this way; a transaction started by the ORM leaks it if `begin`, `commit` or
      // `rollback` fails.
      return {
        result: await this.#client.connection().execute((connection) => this.#run(connection, fresh, work)),
        batch: fresh,
      };
    });
    await this.outside(() => doAll(batch.afterCommit));
    return result;
  }

  /** Runs work that must not join the current transaction, such as a worker that happens to be woken inside it. */
  outside<T>(work: () => T): T {
    return this.#ambient.run(undefined, work);
  }

  async all<T>(query: RawBuilder<T>): Promise<T[]> {
    try {
      const transaction = this.#scope?.transaction;
      if (transaction) return (await query.execute(transaction)).rows;
      const { sql: text, parameters } = query.compile(this.#client);
      return (await this.#again(() => this.#backend.query(text, parameters))).rows as T[];
    } catch (error) {
      throw this.#backend.orm.em
        .getPlatform()
        .getExceptionConverter()
        .convertException(error as Error);
    }
  }

  async one<T>(query: RawBuilder<T>): Promise<T | undefined> {
    return (await this.all(query))[0];
  }

  /**
   * Registers a plugin's entities, at runtime and on each start of the plugin. Rejects a table owned by another plugin;
   * a changed definition replaces the previous one.
   */
  async discover(plugin: string, entities: readonly EntityDefinition[]): Promise<void> {
    const tableOf = (definition: EntityDefinition): string => definition.init().meta.tableName;
    const fresh = entities.filter((definition) => {
      const known = this.#tables.get(tableOf(definition));
      if (known?.owner === undefined || known.owner === plugin) return known?.definition !== definition;
      throw new PluginError(
        plugin,
        `has an entity on the table "${tableOf(definition)}", which belongs to "${known.owner}"; give it a table of its own`,
      );
    });
    if (fresh.length === 0) return;
    const stale = fresh.flatMap((definition) => this.#tables.get(tableOf(definition))?.definition.meta.class ?? []);
    try {
      this.#backend.orm.discoverEntity(fresh, stale);
    } catch (error) {
      throw new PluginError(
        plugin,
        `has an entity that cannot be used: ${messageOf(error)}; correct it in its entities.ts`,
        { cause: error },
      );
    }
    for (const definition of fresh) this.#tables.set(tableOf(definition), { owner: plugin, definition });
  }

  /** Runs pending migrations, each in its own transaction, and returns their names. One process at a time. */
  async migrate(plugin: string, migrations: readonly MigrationClass[]): Promise<readonly string[]> {
    const repeated = migrations.find((one, at) => migrations.findIndex((other) => other.name === one.name) !== at);
    if (repeated) throw new PluginError(plugin, `lists two migrations named "${repeated.name}"; rename one of them`);
    return this.#migrate(plugin, migrations, 'up');
  }

  /**
   * Throws if an applied migration is not in this list, for example one of a newer version: undoing only the listed
   * ones would leave its changes in place and still recorded as applied.
   */
  async assertUndoable(plugin: string, migrations: readonly MigrationClass[]): Promise<void> {
    const missing = missingOf(await this.#applied(plugin), migrations);
    if (missing.length > 0) throw new PluginError(plugin, `cannot be uninstalled: ${missingText(missing)}`);
  }

  /** Undoes the applied migrations among these, last first, and gives up ownership of the plugin's tables. */
  async migrateDown(plugin: string, migrations: readonly MigrationClass[]): Promise<void> {
    await this.#migrate(plugin, migrations.toReversed(), 'down');
    for (const table of this.#tables.values()) if (table.owner === plugin) table.owner = undefined;
  }

  /** Whether the database is read-only at the moment, such as a standby or one whose disk is full. */
  async readOnly(): Promise<boolean> {
    return (await this.one(sql<{ on: boolean }>`select current_setting('transaction_read_only') = 'on' as on`))!.on;
  }

  /**
   * Returns false if another process has claimed exclusive use of this database. Held until `close`; always true on the
   * embedded database.
   */
  claimAlone(): Promise<boolean> {
    return this.#backend.claimAlone();
  }

  async identity(): Promise<string> {
    return (await this.one(sql<{ id: string }>`select id from installation order by id`))!.id;
  }

  close(): Promise<void> {
    return this.#backend.close();
  }

  get #scope(): Scope | undefined {
    const scope = this.#ambient.getStore();
    return scope?.open ? scope : undefined;
  }

  async #again<T>(work: () => Promise<T>): Promise<T> {
    this.#underWay++;
    try {
      for (const most of AGAIN) {
        try {
          return await work();
        } catch (error) {
          if (!wasRolledBack(error)) throw error;
          this.#log.info(
            { error: chainOf(error) },
            'the database rolled back a transaction that conflicts with another one; retrying',
          );
        }
        await delay(Math.random() * most);
      }
      return await work();
    } finally {
      this.#underWay--;
    }
  }

  async #run<T>(connection: Kysely<unknown>, batch: Batch, work: (em: EntityManager) => Promise<T>): Promise<T> {
    const transaction = await connection.startTransaction().execute();
    const scope: Scope = { em: this.em(), batch, transaction, open: true };
    scope.em.setTransactionContext(transaction);
    try {
      const result = await this.#ambient.run(scope, async () => {
        const value = await work(scope.em);
        await scope.em.flush();
        const statements = batch.lastStatements.flatMap((make) => make());
        const last = statements.pop();
        for (const statement of statements) await this.all(statement);
        if (last) await this.#backend.thenCommit(() => this.all(last));
        return value;
      });
      await transaction.commit().execute();
      for (const begin of batch.committed) begin();
      return result;
    } catch (error) {
      // The caller must see the original error. A connection that is gone has rolled back by itself.
      await transaction
        .rollback()
        .execute()
        .catch((cause: unknown) =>
          this.#log.warn({ error: messageOf(cause) }, 'a transaction could not be rolled back'),
        );
      throw error;
    } finally {
      scope.open = false;
      scope.em.resetTransactionContext();
    }
  }

  /** The names of a plugin's applied migrations. */
  async #applied(plugin: string): Promise<readonly string[]> {
    const rows = await this.all(
      sql<{ name: string }>`select name from migration where plugin = ${plugin} order by name`,
    );
    return rows.map(({ name }) => name);
  }

  async #migrate(plugin: string, migrations: readonly MigrationClass[], direction: 'up' | 'down'): Promise<string[]> {
    const { driver, config } = this.#backend.orm;
    const before = await this.#applied(plugin);
    const missing = missingOf(before, migrations);
    if (missing.length > 0) this.#log.warn({ plugin, migrations: missing }, missingText(missing));
    const ran: string[] = [];
    for (const migration of migrations.filter(({ name }) => before.includes(name) === (direction === 'down'))) {
      const change = new migration(driver, config);
      try {
        await this.transaction(async (em) => {
          await this.all(sql`select pg_advisory_xact_lock(${MIGRATING}), set_config('statement_timeout', '0', true)`);
          // Another process may have run it in the meantime.
          if ((await this.#applied(plugin)).includes(migration.name) === (direction === 'up')) return;
          change.setTransactionContext(em.getTransactionContext()!);
          await change[direction]();
          for (const query of change.getQueries())
            await driver.execute(query as string, [], 'all', em.getTransactionContext());
          await this.all(
            direction === 'up'
              ? sql`insert into migration (plugin, name) values (${plugin}, ${migration.name})`
              : sql`delete from migration where plugin = ${plugin} and name = ${migration.name}`,
          );
          ran.push(migration.name);
        });
      } catch (error) {
        const hint = missing.length > 0 ? `. ${missingText(missing)}` : '';
        throw new PluginError(
          plugin,
          `migration "${migration.name}" failed: ${messageOf(error)}; ${REMEDY[direction]}${hint}`,
          { cause: error },
        );
      }
      await this.#backend.migrated();
    }
    return ran;
  }
}

/** Runs all of them even if some fail, then throws the first error. */
async function doAll(work: ReadonlyArray<() => Promise<void>>): Promise<void> {
  const errors: unknown[] = [];
  for (const one of work) await one().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}

function wasRolledBack(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause)
    if (ROLLED_BACK.has((at as { readonly code?: unknown }).code)) return true;
  return false;
}
