import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { EntitySchema, MikroORM } from '@mikro-orm/core';
import type { Migration } from '@mikro-orm/migrations';
import type { AbstractSqlDriver, SqlEntityManager } from '@mikro-orm/sql';
import { sql, type ControlledTransaction, type Kysely, type RawBuilder } from 'kysely';
import { PluginError, chainOf, messageOf } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { defineToken } from '../ref.ts';

/** MikroORM’s own: entities, and the builders `p` of their properties. */
export { defineEntity, p, UniqueConstraintViolationException } from '@mikro-orm/core';
/** MikroORM’s own: each file of `migrations/` exports a class that extends it. */
export { Migration } from '@mikro-orm/migrations';
/** Kysely’s own: SQL in which every value is bound. */
export { sql, type RawBuilder } from 'kysely';

/**
 * In a statement on a table that may grow a thousand times within seconds: it is planned each time. A plan that was kept
 * from when the table was small would read all of it.
 */
export const PLANNED_ANEW = '/* planned anew */';

/** What `data.em()` has: the rows of a transaction as objects, written when it commits. */
export type EntityManager = SqlEntityManager;
// `any` because a list of entities mixes types; `defineEntity` checks each one.
export type EntityDefinition = EntitySchema<any, any, any>;
/** Recorded under its class name, which must be unique within its plugin and stay as it is. */
export type MigrationClass = (new (...args: any[]) => Migration) & { readonly name: string };

/**
 * The database. Inside a transaction every method joins it, so that on the embedded single connection nothing waits for
 * itself.
 */
export interface Data {
  /** True where the database runs in this process: one connection, one process. */
  readonly embedded: boolean;
  /** The transaction's, or a fresh fork. */
  em(): EntityManager;
  /**
   * Runs work in a transaction (a nested call joins the one under way), flushes the em, commits, then sends the actions
   * raised meanwhile and resolves when their listeners have settled. A throw rolls back and drops the actions. What the
   * server rolls back for the sake of another transaction runs again, at most twice: work must not do outside of the
   * database what cannot be done again.
   */
  transaction<T>(work: (em: EntityManager) => Promise<T>): Promise<T>;
  readonly inTransaction: boolean;
  /**
   * Waits until no other transaction, of whichever process, holds the lock of this name, and holds it until the end of
   * the transaction under way: for what has to be counted or looked up before it is added to. Throws outside of a
   * transaction. The name begins with the plugin's id: `boats:harbour 7`. Take it before rows are locked.
   */
  lock(name: string): Promise<void>;
  /**
   * Runs `work` after the commit of the transaction under way, in the order in which such work came, and drops it with
   * a rollback; at once outside of one. Resolves when it has run, or waits for the commit.
   */
  afterCommit(work: () => Promise<void>): Promise<void>;
  /**
   * The rows of one statement, without the ORM's cost: for lists and for SQL. timestamptz is a `Date`, bigint and
   * numeric a number, jsonb parsed, date and interval text. Does not flush what the em still holds. Throws as the em
   * does (`UniqueConstraintViolationException`).
   */
  all<T>(query: RawBuilder<T>): Promise<T[]>;
  /** As `all`, the first row only. */
  one<T>(query: RawBuilder<T>): Promise<T | undefined>;
  /** A stable id of this database, made with the kernel's tables. */
  identity(): Promise<string>;
  /**
   * How many statements this process has run, `begin` and `commit` included: tests assert that it does not grow with
   * the rows.
   */
  readonly statements: number;
}
export const Data = defineToken<Data>('Data');

/** What belongs to a transaction besides its statements, and is dropped with a rollback. */
export interface Batch {
  /** Make the last statements, after the flush; what fails rolls back. */
  readonly lastStatements: Array<() => readonly RawBuilder<unknown>[]>;
  /** Called right after the commit. */
  readonly committed: Array<() => void>;
  /** Done after that, each after the one before: the actions raised in the transaction. */
  readonly afterCommit: Array<() => Promise<void>>;
}

/** A database that somebody opened, and what is different between the embedded one and a server. */
export interface DatabaseDriver {
  readonly embedded: boolean;
  readonly orm: MikroORM<AbstractSqlDriver>;
  /** Counts every statement since the start, the ORM's included. */
  readonly usage: { readonly statements: number };
  /** Outside transactions, past the ORM's client: for reads. */
  query(text: string, values: readonly unknown[]): Promise<{ rows: unknown[] }>;
  /** Runs the last statement of a transaction; the driver may send the `commit` that follows with it. */
  thenCommit<T>(statement: () => Promise<T>): Promise<T>;
  claimAlone(): Promise<boolean>;
  /**
   * After each migration: it may have changed what prepared statements return, and made types that the driver has to
   * learn.
   */
  migrated(): Promise<void>;
  close(): Promise<void>;
}

interface Scope {
  readonly em: EntityManager;
  readonly batch: Batch;
  readonly transaction: ControlledTransaction<unknown>;
  /** False after commit or rollback: work that nobody awaited must not use the connection any more. */
  open: boolean;
}

/** The advisory lock under which one process at a time migrates; the number has no meaning. */
const MIGRATING = 7_216_002;
/**
 * Milliseconds within which to try again what the server rolled back; at random, so that the same two do not meet
 * again.
 */
const AGAIN = [50, 250];
/**
 * PostgreSQL's codes for what it rolled back because of other transactions: two that waited for each other, or could
 * not be put in an order.
 */
const ROLLED_BACK = new Set<unknown>(['40001', '40P01']);
const REMEDY = {
  up: 'nothing of it was kept; correct it and enable the plugin again',
  down: 'nothing of it was removed; its `down` has to undo what ran before, so correct it and uninstall again',
};

/** The names of those that ran and are none of these: of a newer version, or of files that are gone. */
const missingOf = (ran: readonly string[], migrations: readonly MigrationClass[]): readonly string[] =>
  ran.filter((name) => !migrations.some((one) => one.name === name));
const missingText = (names: readonly string[]): string =>
  `${names.map((name) => `"${name}"`).join(', ')} ran before, and no migration of it is called so now: what it made stays, and cannot be undone without it; put its file back, or install the version that has it`;

/** Holds the one ambient thing there is: the transaction under way and the actions raised in it. */
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

  /** How much the database has to do or to wait with: transactions, and statements outside of them. */
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
    if (!this.inTransaction) throw new Error(`The lock "${name}" is asked for outside of a transaction`);
    // The embedded database has one connection, which the transaction holds.
    if (!this.embedded) await this.all(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`);
  }

  /** Of the transaction under way; undefined outside of one. */
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
      // The connection is given back whatever happens; a transaction of the ORM keeps one whose `begin`, `commit` or
      // `rollback` failed.
      return {
        result: await this.#client.connection().execute((connection) => this.#run(connection, fresh, work)),
        batch: fresh,
      };
    });
    await this.outside(() => doAll(batch.afterCommit));
    return result;
  }

  /** Runs work that must not join the transaction under way, such as a worker's that happens to be woken in it. */
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
   * Live, and again at each start. A table that another plugin owns is refused; a changed definition replaces the old
   * one.
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

  /** Runs what has not run yet, each in a transaction of its own, and returns the names. One process at a time. */
  async migrate(plugin: string, migrations: readonly MigrationClass[]): Promise<readonly string[]> {
    const repeated = migrations.find((one, at) => migrations.findIndex((other) => other.name === one.name) !== at);
    if (repeated) throw new PluginError(plugin, `lists two migrations named "${repeated.name}"; rename one of them`);
    return this.#migrate(plugin, migrations, 'up');
  }

  /**
   * Throws where something ran that is none of these, as of a newer version: undoing these would leave what it made, and
   * count it as made.
   */
  async assertUndoable(plugin: string, migrations: readonly MigrationClass[]): Promise<void> {
    const missing = missingOf(await this.#applied(plugin), migrations);
    if (missing.length > 0) throw new PluginError(plugin, `cannot be uninstalled: ${missingText(missing)}`);
  }

  /** Undoes what has run of these, last first, and lets go of the plugin's tables. */
  async migrateDown(plugin: string, migrations: readonly MigrationClass[]): Promise<void> {
    await this.#migrate(plugin, migrations.toReversed(), 'down');
    for (const table of this.#tables.values()) if (table.owner === plugin) table.owner = undefined;
  }

  /** Whether the database takes no writes at the moment, as a standby or one whose disk is full. */
  async readOnly(): Promise<boolean> {
    return (await this.one(sql<{ on: boolean }>`select current_setting('transaction_read_only') = 'on' as on`))!.on;
  }

  /**
   * False when another process has claimed this database alone. Held until `close`, always true on the embedded one.
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
            'the database rolled work back for the sake of other work; it is tried again',
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
      // What went wrong first is what the caller must see; a connection that is gone has rolled back by itself.
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

  /** The names of a plugin's migrations that ran. */
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
          // Another process may have been faster.
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

/** Does each whatever becomes of those before it; then throws what the first that failed threw. */
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
