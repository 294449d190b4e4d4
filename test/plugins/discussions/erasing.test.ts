import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { definePlugin, HttpError } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { discussionUpdated, draftAccepted } from 'parley-forum/plugins/discussions';
import { Deletions } from 'parley-forum/ports/personal-data';
import { expectStatus, install, useForum } from './forum.ts';

const forum = useForum({ 'discussions.rate_limit': 1_000 });

describe('what a member wrote is erased', () => {
  let refuses = false;
  let onRenamed: (() => Promise<unknown>) | undefined;
  beforeAll(() =>
    install(
      forum.app,
      definePlugin({
        id: 'word-filter',
        setup(_services, plugin) {
          plugin.on(draftAccepted, async (draft) => {
            if (refuses) throw new HttpError(403, 'No such words here');
            return { ...draft, ...(draft.title !== undefined && { title: draft.title.replace('Deleted', 'D–d') }) };
          });
          const rename = async (): Promise<void> => {
            const work = onRenamed;
            onRenamed = undefined;
            await work?.();
          };
          plugin.on(discussionUpdated, rename, { awaited: true });
        },
      }),
    ),
  );
  beforeEach(() => {
    refuses = false;
    onRenamed = undefined;
  });

  /** A new member; `erase` ends when nothing of theirs is left to erase. */
  async function member(username: string) {
    const { id } = await forum.app.app
      .service(Accounts)
      .create({ username, email: `${username}@forum.test`, password: 'Plain-Sailing-42' });
    const client = forum.app.client();
    await client.login(username, 'Plain-Sailing-42');
    const begin = async (title: string): Promise<string> =>
      expectStatus(await client.post('/api/discussions', { title, content: 'Secret', category_id: 'general' }), 201)
        .body.discussion_id;
    const erase = async () => {
      await forum.app.app.service(Deletions).erase(id, 'remove');
      await forum.app.calm();
    };
    return { begin, erase };
  }
  const found = async (id: string): Promise<any> =>
    expectStatus(await forum.as.mia.get(`/api/discussions/${id}`), 200).body;

  test.each([
    ['refuses the replacement title', true],
    ['alters the replacement title', false],
  ])('even if a draft filter %s', async (_what, refusing) => {
    const { begin, erase } = await member(refusing ? 'refused' : 'altered');
    const [alone, shared] = [await begin('Alone'), await begin('Shared')];
    await forum.reply('bob', shared, 'Bob stays');
    refuses = refusing;
    await erase();
    for (const id of [alone, shared]) {
      const { discussion } = await found(id);
      expect(discussion).toMatchObject({ title: 'Deleted discussion', content: '', is_deleted: id === alone });
    }
  });

  test('but not replies that others write meanwhile', async () => {
    const { begin, erase } = await member('overtaken');
    const id = await begin('Overtaken');
    onRenamed = () => forum.reply('bob', id, 'Just in time');
    await erase();
    const { discussion, posts } = await found(id);
    expect(discussion).toMatchObject({ title: 'Deleted discussion', content: '', is_deleted: false });
    expect(posts).toMatchObject([{ is_deleted: true }, { content: 'Just in time' }]);
  });
});
