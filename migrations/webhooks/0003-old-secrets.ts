import { Migration } from 'parley-forum';

/**
 * All replaced secrets that still sign, rather than only the last one: `[{ secret, until }]`, sealed, newest first.
 * Replacing a secret no longer ends an older one that still signs.
 */
export default class Webhooks0003OldSecrets extends Migration {
  override up(): void {
    this.addSql(`alter table webhook add column old_secrets jsonb not null default '[]'`);
    this
      .addSql(`update webhook set old_secrets = jsonb_build_array(jsonb_build_object('secret', old_secret, 'until', old_secret_until))
      where old_secret is not null`);
    this.addSql('alter table webhook drop column old_secret, drop column old_secret_until');
  }

  override down(): void {
    this.addSql('alter table webhook add column old_secret text, add column old_secret_until timestamptz(3)');
    this
      .addSql(`update webhook set old_secret = old_secrets -> 0 ->> 'secret', old_secret_until = (old_secrets -> 0 ->> 'until')::timestamptz
      where old_secrets <> '[]'`);
    this.addSql('alter table webhook drop column old_secrets');
  }
}
