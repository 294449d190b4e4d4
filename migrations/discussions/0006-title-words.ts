import { Migration } from 'parley-forum';

/** Finds titles by how their words begin: the space makes the first word begin like all others. */
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
