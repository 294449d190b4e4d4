import type { MikroORM } from '@mikro-orm/core';
import type { AbstractSqlDriver } from '@mikro-orm/sql';

/** Where statements go: a transaction's connection, or a whole backend that picks one. */
export interface Connection {
  /** One statement. Rows hold what `Data.all` promises, whichever database it is. */
  query<T>(text: string, values: readonly unknown[]): Promise<T[]>;
  /** Several statements at once, without parameters: migrations. */
  script(text: string): Promise<void>;
}

export type Orm = MikroORM<AbstractSqlDriver>;

/** What is different between the embedded database and a server. */
export interface Backend extends Connection {
  readonly embedded: boolean;
  readonly orm: Orm;
  /** Every statement since the start, the ORM's and `begin`/`commit` included. */
  readonly statements: number;
  listen(channel: string, run: (payload: string) => void): Promise<() => Promise<void>>;
  claimAlone(): Promise<boolean>;
  /** Prepared statements are named anew: a migration may have changed what they return. */
  forgetStatements(): void;
  close(): Promise<void>;
}

/** Called with the connection of each transaction the ORM begins, in the context that began it. */
export type OnBegin = (connection: Connection) => void;

/** The ORM discovers nothing by itself: plugins hand over their entities when they start. */
export const ORM_OPTIONS = { entities: [], discovery: { warnWhenNoEntities: false }, extensions: [], colors: false, ensureDatabase: false } as const;

type Reader = (text: string) => unknown;

/** Both databases run in UTC, so the text form ends in `+00` or, without a time zone, in nothing. */
const instant: Reader = (text) => new Date(`${text.replace(' ', 'T').replace('+00', '')}Z`);
const same: Reader = (text) => text;
const bytes: Reader = (text) => Buffer.from(text.slice(2), 'hex');

/** How values are read, by PostgreSQL type number, where the two drivers differ: int8, numeric, bytea, dates, intervals, and arrays of them. */
export function readers(parseArray: (text: string) => readonly (string | null)[]): Readonly<Record<number, Reader>> {
  const listOf = (read: Reader): Reader => (text) => parseArray(text).map((item) => (item === null ? null : read(item)));
  return {
    17: bytes, 20: Number, 1700: Number, 1114: instant, 1184: instant, 1082: same, 1186: same,
    1016: listOf(Number), 1231: listOf(Number), 1115: listOf(instant), 1185: listOf(instant), 1182: listOf(same),
  };
}
