import { Migration } from 'parley-forum';

/** The kernel's tables: settings, which plugins are off, jobs, and an id that distinguishes databases. */
export default class CreateKernel extends Migration {
  override up(): void {
    this.addSql(`
      create table installation (id uuid primary key default gen_random_uuid());
      insert into installation default values;

      create table setting (key text primary key, value jsonb not null, updated_at timestamptz not null default now());

      create table plugin_state (id text primary key, enabled boolean not null, updated_at timestamptz not null default now());

      -- One row for each listener that still has to hear of an action. While owner is set, run_at is when its lease ends:
      -- the row of a process that died becomes due by itself.
      create table job (
        id uuid not null,
        listener text not null,
        key text,
        payload jsonb not null,
        attempt integer not null default 0,
        run_at timestamptz not null default now(),
        owner uuid,
        failed_at timestamptz,
        error text,
        -- Of a schedule: its one row stands for the next moment.
        cron text,
        primary key (id, listener)
      );
      create index job_due on job (listener, run_at, id) where failed_at is null;
      create index job_owned on job (listener, key) where owner is not null;
      create unique index job_cron on job (listener) where cron is not null;
    `);
  }

  override down(): void {
    this.addSql('drop table job; drop table plugin_state; drop table setting; drop table installation;');
  }
}
