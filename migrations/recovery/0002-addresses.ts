import { Migration } from 'parley-forum';

export default class Recovery0002Addresses extends Migration {
  override up(): void {
    // The new address of a member, which takes effect once the link of the kind `address` is followed.
    this.addSql(
      'create table recovery_address (account_id uuid primary key, email text not null, since timestamptz(3) not null)',
    );
  }

  override down(): void {
    this.addSql('drop table recovery_address');
  }
}
