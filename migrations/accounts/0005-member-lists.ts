import { Migration } from 'parley-forum';

/** Indexes for lists of members by when they joined and by when they were last seen. */
export default class Accounts0005MemberLists extends Migration {
  override up(): void {
    this.addSql(`create index account_newest on account (joined_at desc, id desc) where status = 'active'`);
    this.addSql(
      `create index account_last_seen on account (last_seen_at desc, id desc) where status = 'active' and last_seen_at is not null`,
    );
  }

  override down(): void {
    for (const name of ['newest', 'last_seen']) this.addSql(`drop index account_${name}`);
  }
}
