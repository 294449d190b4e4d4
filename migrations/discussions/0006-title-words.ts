import { Migration } from 'parley-forum';

/** An index for finding titles by prefixes of their words: the space makes the first word start like all others. */
export default class Discussions0006TitleWords extends Migration {
  override up(): void {
    this.addSql('create extension if not exists pg_trgm');
    this.addSql(
      `create index discussion_title_words on discussion using gin ((' ' || lower(title)) gin_trgm_ops) where deleted_at is null`,
    );
  }

  override down(): void {
    this.addSql('drop index discussion_title_words');
  }
}
