import { Migration } from 'parley-forum';

/** An index for reading the most active authors of a discussion in order, however many wrote in it. */
export default class Discussions0012Participants extends Migration {
  override up(): void {
    this.addSql(
      'create index discussion_participant_most on discussion_participant (discussion_id, posts desc, user_id desc)',
    );
  }

  override down(): void {
    this.addSql('drop index discussion_participant_most');
  }
}
