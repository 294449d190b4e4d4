import { Migration } from 'parley-forum';

export default class Reactions0001Create extends Migration {
  override up(): void {
    this.addSql(`create table reaction_type (
      slug text primary key,
      emoji text not null unique,
      label text not null,
      position integer not null,
      enabled boolean not null
    )`);
    // The number orders reactions, even within the same millisecond.
    this.addSql(`create table reaction (
      id bigint generated always as identity primary key,
      post_id uuid not null,
      user_id uuid not null,
      type text not null references reaction_type (slug),
      created_at timestamptz(3) not null,
      unique (post_id, type, user_id)
    )`);
    this.addSql('create index reaction_user on reaction (user_id, id desc)');
    // Updated with every change, so that the cost of a page of posts does not depend on their popularity.
    this.addSql(`create table reaction_count (
      post_id uuid not null, type text not null references reaction_type (slug), count integer not null, primary key (post_id, type)
    ) with (fillfactor = 70)`);
  }

  override down(): void {
    for (const table of ['reaction_count', 'reaction', 'reaction_type']) this.addSql(`drop table ${table}`);
  }
}
