import { Migration } from 'parley-forum';

/** Entries are added and, once they are old, deleted; none is ever changed. */
export default class Audit0001Create extends Migration {
  override up(): void {
    // `seal` covers the entry and `previous`, the seal before it, so that changed, missing and reordered entries are
    // detected.
    this.addSql(`create table audit_entry (
      position bigint generated always as identity primary key,
      id uuid not null unique,
      action text not null,
      actor uuid,
      subject_type text,
      subject_id text,
      address text,
      details jsonb not null,
      created_at timestamptz(3) not null,
      previous text not null,
      seal text not null
    )`);
    for (const column of ['action', 'actor', 'subject_id'])
      this.addSql(`create index audit_entry_${column} on audit_entry (${column}, position)`);
    this.addSql('create index audit_entry_age on audit_entry (created_at)');
    // The encrypted key of the seals, in a single row.
    this.addSql('create table audit_key (one boolean primary key default true check (one), sealed text not null)');
    // Protects against mistakes of this program and of people at a database prompt. The owner of the table can remove
    // the trigger; the seals then reveal changes.
    this.addSql(`create function audit_entry_stays() returns trigger language plpgsql as $$ begin
      if tg_op = 'DELETE' and current_setting('parley.audit_forgets', true) = 'on' then return old; end if;
      raise exception 'entries of the audit log are never changed, and deleted only when they are too old';
    end $$`);
    this.addSql(
      'create trigger audit_entry_stays before update or delete on audit_entry for each row execute function audit_entry_stays()',
    );
    this.addSql(
      'create trigger audit_entry_whole before truncate on audit_entry for each statement execute function audit_entry_stays()',
    );
  }

  override down(): void {
    this.addSql('drop table audit_entry; drop function audit_entry_stays(); drop table audit_key;');
  }
}
