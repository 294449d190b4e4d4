import { Migration } from 'parley-forum';

/** Display names of members, searchable by prefix and by substring. */
export default class Accounts0006DisplayNames extends Migration {
  override up(): void {
    this.addSql('alter table account add column display_name text, add column display_name_key text');
    this.addSql(
      'create index account_display_name_beginning on account ((display_name_key collate "C")) where display_name_key is not null',
    );
    this.addSql(
      'create index account_display_name_search on account using gin (display_name_key gin_trgm_ops) where display_name_key is not null',
    );
  }

  override down(): void {
    this.addSql('alter table account drop column display_name, drop column display_name_key');
  }
}
