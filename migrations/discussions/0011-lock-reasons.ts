import { Migration } from 'parley-forum';

/** The reason why a discussion is locked, shown to readers. */
export default class Discussions0011LockReasons extends Migration {
  override up(): void {
    this.addSql('alter table discussion add column lock_reason text');
  }

  override down(): void {
    this.addSql('alter table discussion drop column lock_reason');
  }
}
