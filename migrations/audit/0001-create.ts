import { Migration } from 'parley-forum';

/** Entries are added and, once they are old, forgotten; nothing changes one. */
export default class Audit0001Create extends Migration {
  override up(): void {
    // `seal` covers the entry and the seal before it, `previous`, so that a change, a gap or another order shows.
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
    // The sealed key of the seals: one row.
    this.addSql('create table audit_key (one boolean primary key default true check (one), sealed text not null)');
    // Against mistakes of this program and of people at the database's prompt. Whoever owns the table can lift it; the
    // seals then tell.
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
