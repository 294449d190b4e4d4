import { Migration } from 'parley-forum';

/**
 * Responses to requests with an Idempotency-Key; status and response are set in the transaction that creates the row.
 */
export default class Api0001Create extends Migration {
  override up(): void {
    this.addSql(`create table api_answer (
      account_id uuid not null,
      key text not null,
      digest text not null,
      status smallint,
      answer text,
      asked_at timestamptz(3) not null,
      primary key (account_id, key)
    )`);
    this.addSql('create index api_answer_age on api_answer (asked_at)');
  }

  override down(): void {
    this.addSql('drop table api_answer');
  }
}
