import { Migration } from 'parley-forum';

export default class Access0001Create extends Migration {
  override up(): void {
    this.addSql('create extension if not exists citext');
    this.addSql(`create table access_group (
      id text primary key,
      name citext not null constraint access_group_name_unique unique,
      level text not null check (level in ('banned', 'guest', 'member', 'moderator', 'admin')),
      built_in boolean not null default false
    )`);
    this.addSql(`create table access_decision (
      group_id text not null references access_group on delete cascade,
      permission text not null,
      allowed boolean not null,
      primary key (group_id, permission)
    )`);
    this.addSql(`insert into access_group (id, name, level, built_in) values
      ('banned', 'Banned', 'banned', true), ('guest', 'Guest', 'guest', true), ('member', 'Member', 'member', true),
      ('moderator', 'Moderator', 'moderator', true), ('admin', 'Admin', 'admin', true)`);
  }

  override down(): void {
    this.addSql('drop table access_decision');
    this.addSql('drop table access_group');
  }
}
