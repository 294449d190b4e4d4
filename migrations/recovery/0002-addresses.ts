import { Migration } from 'parley-forum';

export default class Recovery0002Addresses extends Migration {
  override up(): void {
    // The address that a member wants: theirs once the link of the kind `address` was followed.
    this.addSql(
      'create table recovery_address (account_id uuid primary key, email text not null, since timestamptz(3) not null)',
    );
  }

  override down(): void {
    this.addSql('drop table recovery_address');
  }
}
