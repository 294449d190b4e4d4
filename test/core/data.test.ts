import { failureOf } from 'parley-forum';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../core/host/databases/open.ts';
import {
  defineEntity,
  Migration,
  p,
  sql,
  UniqueConstraintViolationException,
  type Batch,
  type Database,
} from '../../core/data/database.ts';
import { defineAction, HookBus } from '../../core/hooks.ts';
import { Supervisor } from '../../core/plugins/supervisor.ts';
import { onServer, openTestDatabase, testLog, type TestDatabase } from '../kit/database.ts';

class CreateNote extends Migration {
  override up(): void {
    this
      .addSql(`create table note (id uuid primary key default gen_random_uuid(), title text not null unique, size bigint not null default 7);
      create index note_size on note (size);`);
  }
  override down(): void {
    this.addSql('drop table note');
  }
}
const Note = defineEntity({
  name: 'Note',
  tableName: 'note',
  properties: { id: p.uuid().primary().defaultRaw('gen_random_uuid()'), title: p.text() },
});

let test: TestDatabase;
let data: Database;
beforeAll(async () => {
  test = await openTestDatabase();
  data = test.database;
  await data.migrate('notes', [CreateNote]);
  await data.discover('notes', [Note]);
});
afterAll(() => test.drop());

const titles = async (): Promise<string[]> =>
  (await data.all(sql<{ title: string }>`select title from note order by title`)).map(({ title }) => title);
const clear = (): Promise<unknown> => data.all(sql`delete from note`);

describe('reading', () => {
  it('returns the same JavaScript values on both databases', async () => {
    const at = new Date('2024-02-29T23:59:59.123Z');
    const row = await data.one(sql<
      Record<string, unknown>
    >`select ${at}::timestamptz as at, array[${at}::timestamptz] as moments, 9007199254740991::bigint as large, count(*) as count,
      1.25::numeric as price, ${JSON.stringify({ a: [1] })}::jsonb as json, '2024-02-29'::date as day, interval '90 minutes' as span, '\\x0102'::bytea as bytes, array['x', null] as list,
      array[1::bigint] as numbers, ${['p', 'q']}::text[] as words, true as yes, null::text as nothing, 'c0ffee00-0000-4000-8000-000000000000'::uuid as id from (values (1)) as one(n)`);
    expect(row).toEqual({
      at,
      moments: [at],
      large: 9007199254740991,
      count: 1,
      price: 1.25,
      json: { a: [1] },
      day: '2024-02-29',
      span: '01:30:00',
      bytes: Buffer.from([1, 2]),
      list: ['x', null],
      numbers: [1],
      words: ['p', 'q'],
      yes: true,
      nothing: null,
      id: 'c0ffee00-0000-4000-8000-000000000000',
    });
  });

  it('gives entities dates and numbers, and writes nothing back that has not changed', async () => {
    const properties = {
      id: p.integer().primary(),
      at: p.datetime(),
      day: p.date(),
      size: p.bigint('number'),
      note: p.text().nullable(),
    };
    const Moment = defineEntity({ name: 'Moment', tableName: 'moment', properties });
    await data.all(
      sql`create table moment (id integer primary key, at timestamptz not null, day date not null, size bigint not null, note text)`,
    );
    await data.discover('moments', [Moment]);
    const at = new Date('2024-02-29T23:59:59.123Z');
    await data.transaction(async (em) => void em.create(Moment, { id: 1, at, day: '2024-02-29', size: 5_000_000_000 }));
    const before = data.statements;
    const found = await data.transaction((em) => em.findOneOrFail(Moment, { id: 1 }));
    const read = data.statements - before;
    expect(found).toMatchObject({ at, day: '2024-02-29', size: 5_000_000_000, note: null });
    await data.transaction(async (em) => void ((await em.findOneOrFail(Moment, { id: 1 })).note = 'changed'));
    expect(data.statements - before).toBe(2 * read + 1);
  });

  it('can repeat a statement even after a migration has changed its columns', async () => {
    class Widen extends Migration {
      override up(): void {
        this.addSql('alter table shape add column colour text');
      }
    }
    await data.all(sql`create table shape (id integer)`);
    await data.all(sql`insert into shape values (1)`);
    for (let round = 0; round < 4; round++) expect(await data.one(sql`select * from shape`)).toEqual({ id: 1 });
    await data.migrate('shapes', [Widen]);
    for (let round = 0; round < 4; round++)
      expect(await data.one(sql`select * from shape`)).toEqual({ id: 1, colour: null });
    await data.all(sql`alter table shape add column sides integer`);
    for (let round = 0; round < 4; round++)
      expect(await data.one(sql`select * from shape`)).toEqual({ id: 1, colour: null, sides: null });
  });

  it('binds and reads lists of a type that a migration has just created', async () => {
    class Colours extends Migration {
      override up(): void {
        this.addSql(
          `create type colour as enum ('red', 'green', 'dark "blue"'); create domain shade as text; create table flag (colours colour[] not null, shades shade[] not null)`,
        );
      }
    }
    await data.migrate('flags', [Colours]);
    const colours = ['red', 'dark "blue"'];
    await data.all(sql`insert into flag values (${colours}::colour[], ${['light', 'a,b']}::shade[])`);
    expect(
      await data.one(
        sql`select array_to_json(colours) as colours, array_to_json(shades) as shades from flag where 'red' = any(colours) and ${'red'} = any(${colours}::colour[])`,
      ),
    ).toEqual({ colours, shades: ['light', 'a,b'] });
  });

  it('reports a constraint violation the same way through SQL and through the entity manager', async () => {
    await data.all(sql`insert into note (title) values ('twice')`);
    await expect(data.all(sql`insert into note (title) values ('twice')`)).rejects.toThrow(
      UniqueConstraintViolationException,
    );
    await expect(data.transaction(async (em) => void em.create(Note, { title: 'twice' }))).rejects.toThrow(
      UniqueConstraintViolationException,
    );
    await clear();
  });

  it('counts statements, the same number regardless of the number of rows', async () => {
    const used = async (): Promise<number> => {
      const before = data.statements;
      await titles();
      await data.em().find(Note, {});
      return data.statements - before;
    };
    const few = await used();
    await data.all(sql`insert into note (title) select 'n' || n from generate_series(1, 50) n`);
    expect(await used()).toBe(few);
    expect(few).toBe(2);
    await clear();
  });

  it('does not block the event loop with back-to-back statements', async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    // At least this many: on a busy machine few fit into that time.
    const end = performance.now() + 300;
    for (let n = 0; n < 100 || performance.now() < end; n++) await data.all(sql`select 1`);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(10);
  });
});

describe('a transaction', () => {
  it('is joined by everything inside it, without deadlocking with itself', async () => {
    await data.transaction(async (em) => {
      em.create(Note, { title: 'one' });
      await em.flush();
      expect(await titles()).toEqual(['one']);
      expect(await data.em().find(Note, {})).toHaveLength(1);
      await data.transaction(async () => data.all(sql`insert into note (title) values ('two')`));
      expect(data.inTransaction).toBe(true);
    });
    expect(data.inTransaction).toBe(false);
    expect(await titles()).toEqual(['one', 'two']);
    await clear();
  });

  it('is rolled back when it throws', async () => {
    await expect(
      data.transaction(async (em) => {
        em.create(Note, { title: 'lost' });
        await data.all(sql`insert into note (title) values ('lost too')`);
        throw new Error('changed my mind');
      }),
    ).rejects.toThrow('changed my mind');
    expect(await titles()).toEqual([]);
  });

  it('throws, and runs no commit callbacks, if a statement failed and the error was swallowed', async () => {
    const announced: string[] = [];
    const failing = data.transaction(async () => {
      await data.all(sql`insert into note (title) values ('lost')`);
      await data.afterCommit(async () => void announced.push('kept'));
      await data.all(sql`select 1 / 0`).catch(() => undefined);
    });
    await expect(failing).rejects.toThrow('failed and its error was not rethrown');
    expect([announced, await titles()]).toEqual([[], []]);
    await data.transaction(() => data.all(sql`insert into note (title) values ('kept')`));
    expect(await titles()).toEqual(['kept']);
    await clear();
  });

  it('flushes the entity manager when it ends', async () => {
    await data.transaction(async (em) => void em.create(Note, { title: 'flushed' }));
    expect(await titles()).toEqual(['flushed']);
    await clear();
  });

  it('can run many times concurrently', async () => {
    await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        data.transaction(async (em) => {
          em.create(Note, { title: `t${n}` });
          await em.flush();
          await titles();
        }),
      ),
    );
    expect(await titles()).toHaveLength(40);
    await clear();
  });

  it('holds a named lock until it ends, so that concurrent ones count each other’s rows', async () => {
    const added = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        data.transaction(async () => {
          await data.lock('notes:count');
          return data.all(
            sql`insert into note (title) select ${`n${n}`} where (select count(*) from note) < 3 returning id`,
          );
        }),
      ),
    );
    expect(added.flat()).toHaveLength(3);
    expect(await titles()).toHaveLength(3);
    await clear();
  });

  it('is required for a lock', async () => {
    await expect(data.lock('notes:count')).rejects.toThrow('The lock "notes:count" is requested outside a transaction');
  });

  it('does not lend its connection to work that was not awaited', async () => {
    let late: Promise<string[]> | undefined;
    await data.transaction(async () => {
      late = (async () => {
        while (data.inTransaction) await turn();
        return titles();
      })();
    });
    expect(await late).toEqual([]);
  });
});

describe('actions raised in a transaction', () => {
  const happened = defineAction<string>('note.happened');
  const heard: string[] = [];
  const supervisor = new Supervisor(testLog);
  let bus: HookBus;
  beforeAll(() => {
    bus = new HookBus(supervisor, { batch: (): Batch | undefined => data.batch(), store: () => undefined });
    bus.own('notes', [happened]);
    bus.listen(
      'other',
      happened,
      async (what: string) => {
        heard.push(`${what}: ${data.inTransaction ? 'inside' : 'outside'} ${(await titles()).join()}`);
      },
      { awaited: true },
    );
  });
  afterAll(() => supervisor.close());

  it('reach listeners after and outside the commit, awaited ones before `transaction` resolves', async () => {
    await data.transaction(async (em) => {
      em.create(Note, { title: 'seen' });
      await bus.emit(happened, 'created');
      expect(heard).toEqual([]);
    });
    expect(heard).toEqual(['created: outside seen']);
    heard.length = 0;
    await clear();
  });

  it('are dropped on rollback', async () => {
    await expect(
      data.transaction(async () => {
        await bus.emit(happened, 'never');
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(heard).toEqual([]);
  });

  it('can begin transactions in their listeners', async () => {
    const stop = bus.listen(
      'third',
      happened,
      () => data.transaction(() => data.all(sql`insert into note (title) values ('from a listener')`)),
      { awaited: true },
    );
    await data.transaction(() => bus.emit(happened, 'go'));
    stop();
    expect(await titles()).toEqual(['from a listener']);
    heard.length = 0;
    await clear();
  });
});

describe('entities', () => {
  it('are refused on a table that another plugin owns', async () => {
    const Stolen = defineEntity({ name: 'Stolen', tableName: 'note', properties: { id: p.uuid().primary() } });
    await expect(data.discover('thief', [Stolen])).rejects.toThrow(
      '[thief] has an entity on the table "note", which belongs to "notes"; give it a table of its own',
    );
  });

  it('are replaced when their plugin registers a changed definition', async () => {
    const Sized = defineEntity({
      name: 'Note',
      tableName: 'note',
      properties: {
        id: p.uuid().primary().defaultRaw('gen_random_uuid()'),
        title: p.text(),
        size: p.integer().default(7),
      },
    });
    await data.all(sql`insert into note (title, size) values ('sized', 12)`);
    await data.discover('notes', [Sized]);
    expect((await data.em().findOneOrFail(Sized, { title: 'sized' })).size).toEqual(12);
    await data.discover('notes', [Note]);
    expect(await data.em().find(Note, { title: 'sized' })).toHaveLength(1);
    await clear();
  });
});

describe('a transaction that the server rolls back because of a conflict', () => {
  const said = defineAction<{ readonly round: number }>('test.said');
  /** Fails the first `times` times, as the server does when it detects a deadlock. */
  const failing = (times: number) => {
    let round = 0;
    return async (bus: HookBus): Promise<number> => {
      round++;
      await data.all(sql`insert into note (title) values (${`round ${round}`})`);
      await bus.emit(said, { round });
      if (round <= times)
        await data.all(sql`do $$ begin raise exception 'deadlock detected' using errcode = '40P01'; end $$`);
      return round;
    };
  };
  const listening = (): { bus: HookBus; heard: number[] } => {
    const heard: number[] = [];
    const bus = new HookBus(new Supervisor(testLog), { batch: () => data.batch(), store: () => undefined });
    bus.own('notes', [said]);
    bus.listen('other', said, ({ round }: { round: number }) => void heard.push(round));
    return { bus, heard };
  };

  it('is retried twice, as if it had never run', async () => {
    const { bus, heard } = listening();
    const work = failing(2);
    expect(await data.transaction(() => work(bus))).toBe(3);
    expect([await titles(), heard]).toEqual([['round 3'], [3]]);
    await clear();
  });

  it('fails the third time with 503 and Retry-After', async () => {
    const { bus, heard } = listening();
    const work = failing(9);
    const error = await data.transaction(() => work(bus)).catch((thrown: unknown) => thrown);
    expect(failureOf(error)).toMatchObject({ status: 503, headers: { 'Retry-After': expect.any(String) } });
    expect([await titles(), heard]).toEqual([[], []]);
  });

  it.runIf(onServer)('ends well, as does the other, when two of them deadlock', async () => {
    await data.all(sql`insert into note (title, size) values ('a', 0), ('b', 0)`);
    const add = (title: string) => data.all(sql`update note set size = size + 1 where title = ${title}`);
    const both = Promise.withResolvers<void>();
    let begun = 0;
    const cross = (first: string, second: string) =>
      data.transaction(async () => {
        await add(first);
        if (++begun === 2) both.resolve();
        await both.promise;
        await add(second);
      });
    await Promise.all([cross('a', 'b'), cross('b', 'a')]);
    expect(await data.all(sql`select size from note order by title`)).toEqual([{ size: 2 }, { size: 2 }]);
    await clear();
  });
});

describe('migrations', () => {
  class First extends Migration {
    override up(): void {
      this.addSql('create table step (n integer)');
    }
    override down(): void {
      this.addSql('drop table step');
    }
  }
  class Second extends Migration {
    override async up(): Promise<void> {
      await this.execute('insert into step (n) values (?)', [2]);
    }
    override down(): void {
      this.addSql('delete from step where n = 2');
    }
  }
  class Broken extends Migration {
    override up(): void {
      this.addSql('insert into step (n) values (3)');
      this.addSql('insert into nowhere values (1)');
    }
  }

  it('run once each, in order, and are reverted in reverse', async () => {
    expect(await data.migrate('steps', [First])).toEqual(['First']);
    expect(await data.migrate('steps', [First, Second])).toEqual(['Second']);
    expect(await data.migrate('steps', [First, Second])).toEqual([]);
    expect(await data.all(sql`select n from step`)).toEqual([{ n: 2 }]);
    await data.migrateDown('steps', [First, Second]);
    expect(await data.one(sql`select to_regclass('step') as found`)).toEqual({ found: null });
  });

  it('report plugin, name and remedy when one fails, and it is rolled back', async () => {
    await expect(data.migrate('steps', [First, Broken, Second])).rejects.toThrow(
      /^\[steps\] migration "Broken" failed: .*nowhere.*; it was rolled back; fix it and enable the plugin again$/s,
    );
    expect(await data.all(sql`select n from step`)).toEqual([]);
    expect(await data.migrate('steps', [First, Second])).toEqual(['Second']);
  });

  it('cannot share a name within a plugin', async () => {
    await expect(data.migrate('twins', [First, First])).rejects.toThrow(
      '[twins] lists two migrations named "First"; rename one of them',
    );
  });

  it.runIf(onServer)('run in only one process when two start them at the same time', async () => {
    class Slow extends Migration {
      override up(): void {
        this.addSql('create table slow (n integer); select pg_sleep(0.1);');
      }
    }
    const other = await openDatabase({ url: test.url, folder: test.folder, log: testLog });
    const ran = await Promise.all([data.migrate('slow', [Slow]), other.migrate('slow', [Slow])]);
    await other.close();
    expect(ran.flat()).toEqual(['Slow']);
  });
});
