import { describe, expect, test } from 'vitest';
import { expectStatus, useForum } from './forum.ts';
import { movesIn } from './moves.ts';

const forum = useForum();
const { talk, move, merge, shown, leads } = movesIn(forum);
const page = async (path: string, name: 'ada' | 'mia' = 'mia'): Promise<string> =>
  expectStatus(await forum.as[name].get(path), 200).text;
/** Values of the checkboxes of a page, and of those that are checked. */
const boxes = (text: string): readonly string[] =>
  [...text.matchAll(/<input type="checkbox" name="post_ids\[\]" value="([^"]+)"/g)].map(([, id = '']) => id);
const ticked = (text: string): readonly string[] =>
  [...text.matchAll(/name="post_ids\[\]" value="([^"]+)" checked/g)].map(([, id = '']) => id);
/** Paths of the discussions offered. */
const found = (text: string): readonly string[] =>
  [...text.matchAll(/name="found_id" value="([^"]+)"/g)].map(([, path = '']) => path);

describe('the page for moving posts', () => {
  test('lists the replies, and has selected the one from whose menu it was opened', async () => {
    const from = await talk('Offered', ['bob', 'ada', 'bob']);
    const [first, gone, last] = from.replies;
    await forum.as.mia.delete(`/api/posts/${gone.id}`);
    const text = await page(`/d/${from.number}/move?post=4`);
    expect(boxes(text)).toEqual([first.id, last.id]);
    expect(ticked(text)).toEqual([last.id]);
    expect(text).toContain('Offered, post 4');
    expect(ticked(await page(`/d/${from.number}/move`))).toEqual([]);
    expect(ticked(await page(`/d/${from.number}/move?post=x`))).toEqual([]);
  });

  test('is linked from the menus of moderators only', async () => {
    const from = await talk('Menus', ['bob']);
    const link = `href="/d/${from.number}/move`;
    expect(await page(`/d/${from.number}-menus`)).toContain(`${link}"`);
    expect(await page(`/p/${from.replies[0].id}/menu`)).toContain(`${link}?post=2"`);
    expect(await page(`/p/${from.postId}/menu`)).not.toContain(link);
    expect(await page(`/d/${from.number}-menus`, 'ada')).not.toContain(link);
    expect(await page(`/p/${from.replies[0].id}/menu`, 'ada')).not.toContain(link);
  });

  test('is paginated if there are many replies', async () => {
    const from = await talk('Long', Array(60).fill('bob'));
    const first = await page(`/d/${from.number}/move`);
    expect([boxes(first).length, first.includes('<button name="turn" value="2"')]).toEqual([49, true]);
    const second = await page(`/d/${from.number}/move?post=61`);
    expect([boxes(second).length, ticked(second)]).toEqual([11, [from.replies[59].id]]);
    expect((await forum.as.mia.get(`/d/${from.number}/move?page=3`)).status).toBe(404);
  });

  test('can select a reply and all later ones, as the menu of the reply offers', async () => {
    const from = await talk('Onwards', ['bob', 'ada', 'bob', 'ada']);
    const [, , third, last] = from.replies;
    await forum.as.mia.delete(`/api/posts/${third.id}`);
    expect(await page(`/p/${from.replies[1].id}/menu`)).toContain(`href="/d/${from.number}/move?from=3"`);
    expect(await page(`/p/${from.replies[1].id}/menu`, 'ada')).not.toContain('/move');
    expect(ticked(await page(`/d/${from.number}/move?from=3`))).toEqual([from.replies[1].id, last.id]);
    expect(ticked(await page(`/d/${from.number}/move?from=1`))).toEqual([
      from.replies[0].id,
      from.replies[1].id,
      last.id,
    ]);
    expect(ticked(await page(`/d/${from.number}/move?from=900`))).toEqual([]);
  });

  test('keeps what was selected and typed while other pages of the replies are looked at', async () => {
    const from = await talk('Turning', Array(60).fill('bob'));
    const [first, second, last] = [from.replies[0].id, from.replies[1].id, from.replies[59].id];
    const turn = async (to: number, ids: readonly string[]): Promise<string> => {
      const form = Object.fromEntries(ids.map((id, at) => [`post_ids[${at}]`, id]));
      return expectStatus(
        await forum.as.mia.submit(`/d/${from.number}/move`, { ...form, title: 'Later', turn: String(to) }),
        200,
      ).text;
    };
    const carried = (text: string): readonly string[] =>
      [...text.matchAll(/<input type="hidden" name="post_ids\[\]" value="([^"]+)"/g)].map(([, id = '']) => id);
    const on = await turn(2, [first, second]);
    expect([boxes(on).length, ticked(on), carried(on)]).toEqual([11, [], [first, second]]);
    expect(on).toContain('value="Later"');
    expect(on).toContain('2 posts on other pages are selected as well.');
    const back = await turn(1, [...carried(on), last]);
    expect([ticked(back), carried(back)]).toEqual([[first, second], [last]]);
    expect((await shown(from)).discussion.reply_count).toBe(60);
    expect((await forum.as.mia.submit(`/d/${from.number}/move`, { turn: '3' })).status).toBe(404);
    expect((await forum.as.ada.submit(`/d/${from.number}/move`, { turn: '2' })).status).toBe(403);
  });

  test('starts a discussion with the selected posts, without JavaScript', async () => {
    const from = await talk('To be split', ['bob', 'bob']);
    const answer = await forum.as.mia.submit(`/d/${from.number}/move`, {
      'post_ids[0]': from.replies[0].id,
      'post_ids[1]': from.replies[1].id,
      to: 'new',
      title: 'Split off',
      category_id: 'help',
      reason: 'Another subject',
    });
    expect(answer.status).toBe(303);
    const to = answer.headers.get('location')!;
    const text = (await forum.as.mia.get((await leads(to)) as string)).text;
    expect(text).toContain('Split off');
    expect(text).toContain('2 posts were moved.');
  });

  test.each(['NUMBER', '#NUMBER', 'http://forum.test/d/NUMBER-target?page=1#post-2', '/d/NUMBER/2', 'ID'])(
    'accepts a discussion given as %s',
    async (named) => {
      const [from, to] = [await talk('Source', ['bob']), await talk('Target', [])];
      const answer = await forum.as.mia.submit(`/d/${from.number}/move`, {
        'post_ids[]': from.replies[0].id,
        to: 'existing',
        discussion_id: ` ${named.replace('NUMBER', String(to.number)).replace('ID', to.id)} `,
      });
      expect([answer.status, answer.headers.get('location')]).toEqual([303, `/d/${to.number}/2#post-2`]);
    },
  );

  test('is shown again with the input and the errors', async () => {
    const from = await talk('Refused', ['bob']);
    const send = async (form: object): Promise<string> =>
      expectStatus(await forum.as.mia.submit(`/d/${from.number}/move`, form as Record<string, string>), 400).text;
    const post = { 'post_ids[]': from.replies[0].id };
    expect(await send({ to: 'new', title: 'Kept title', category_id: 'help' })).toMatch(
      /is empty: choose at least one[^]*value="Kept title"/,
    );
    const unknown = await send({ ...post, to: 'existing', discussion_id: '999999' });
    expect(unknown).toContain('is not a discussion you can see');
    expect(ticked(unknown)).toEqual([from.replies[0].id]);
    expect(await send({ ...post, to: 'existing', discussion_id: String(from.number) })).toContain(
      'is the discussion that the posts are already in',
    );
    expect(await send({ ...post, to: 'new', title: ' ', category_id: 'help' })).toContain('is required');
    // Giving only the other discussion selects it.
    expect(await send({ ...post, to: 'new', discussion_id: '999999' })).toMatch(/value="existing"[^>]* checked/);
    expect((await shown(from)).discussion.reply_count).toBe(1);
  });

  test('finds the other discussion by words of its title, among those that the moderator may see', async () => {
    const from = await talk('Rigging on old boats', ['bob']);
    const to = await talk('Rigging of old ships', []);
    await forum.start('mia', 'Rigging rota', 'staff');
    const gone = await talk('Rigging sold', []);
    await forum.as.mia.delete(`/api/discussions/${gone.id}`);
    const path = `/d/${from.number}/move`;
    const form = {
      'post_ids[]': from.replies[0].id,
      to: 'existing',
      title: 'Kept title',
      discussion_id: ' Rigging  O ',
      reason: 'Kept reason',
    };
    const text = expectStatus(await forum.as.mia.submit(path, form), 400).text;
    expect(text).toContain('does not identify a discussion yet: choose one of those found');
    expect(found(text)).toEqual([`/d/${to.number}-rigging-of-old-ships`]);
    expect(text).toContain(`#${to.number} · General`);
    expect(text).toMatch(/value="Kept title"[^]*value=" Rigging {2}O "[^]*value="Kept reason"/);
    expect(ticked(text)).toEqual([from.replies[0].id]);
    const chosen = { ...form, found_for: form.discussion_id, found_id: found(text)[0]! };
    // Changed words are searched again, whatever was chosen from the earlier results.
    const other = expectStatus(await forum.as.mia.submit(path, { ...chosen, discussion_id: 'rigging ro' }), 400).text;
    expect(found(other)).toEqual([expect.stringMatching(/-rigging-rota$/)]);
    const answer = await forum.as.mia.submit(path, chosen);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `/d/${to.number}/2#post-2`]);
  });

  test.each(['Unheard of', 'x', 'zzz 100%'])('reports that no title matches %s', async (words) => {
    const from = await talk('Matched by nothing', ['bob']);
    const form = { 'post_ids[]': from.replies[0].id, to: 'existing', discussion_id: words };
    const path = `/d/${from.number}/move`;
    const { text } = expectStatus(await forum.as.mia.submit(path, form), 400);
    expect(text).toContain('does not match the title of any discussion you can see');
    expect([found(text), text.includes(`value="${words}"`)]).toEqual([[], true]);
    const merged = await forum.as.mia.submit(path, { merge: '1', discussion_id: words });
    expect(merged.text).toContain('does not match the title of any discussion you can see');
  });

  test('merges if that button is pressed', async () => {
    const [from, to] = [await talk('Pressed', ['bob']), await talk('Pressed into', [])];
    const path = `/d/${from.number}/move`;
    const { text } = expectStatus(await forum.as.mia.submit(path, { merge: '1', discussion_id: '' }), 400);
    expect(text).toMatch(/The other discussion: is required/);
    const answer = await forum.as.mia.submit(path, { merge: '1', discussion_id: String(to.number) });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `/d/${to.number}/2#post-2`]);
    expect((await forum.as.mia.get(path)).status).toBe(404);
  });

  test('is not available for a deleted discussion', async () => {
    const from = await talk('Deleted', ['bob']);
    await forum.as.mia.delete(`/api/discussions/${from.id}`);
    expect((await forum.as.mia.get(`/d/${from.number}/move`)).status).toBe(403);
    expect(await page(`/d/${from.number}-deleted`)).not.toContain('/move"');
  });
});

describe('the page of a discussion that posts were moved from', () => {
  test('shows a notice in their place, with a link to them', async () => {
    const [from, to] = [await talk('Some left', ['bob', 'bob']), await talk('Some came', [])];
    await move(from, { post_ids: [from.replies[0].id], discussion_id: to.id });
    const text = await page(`/d/${from.number}-some-left`, 'ada');
    expect(text).toMatch(
      new RegExp(
        `id="post-2"[^>]*><p>Post 2 was moved to another discussion.</p><a class="post-link" href="/d/${from.number}/2" dir="auto">Some came</a>`,
      ),
    );
    expect(text).not.toContain('Some left, post 2');
    const german = await forum.app.client().request('GET', `/d/${from.number}-some-left`, {
      headers: { 'accept-language': 'de' },
    });
    expect(german.text).toContain('Beitrag 2 wurde in eine andere Diskussion verschoben.');
    // A link to the place instead of the post stays in the discussion.
    const place = `/d/${from.number}-some-left#post-2`;
    expect(await leads(`/d/${from.number}/2?here=1`)).toBe(place);
    expect(await leads(`/d/${from.number}/3`)).toBe(`/d/${from.number}-some-left#post-3`);
    await move(from, { post_ids: [from.replies[1].id], discussion_id: to.id });
    expect(await leads(`/d/${from.number}/4`)).toBe(`/d/${from.number}-some-left#post-3`);
  });

  test('shows one notice for consecutive posts that went to the same discussion', async () => {
    const from = await talk('Much left', ['bob', 'bob', 'bob', 'bob', 'bob', 'bob']);
    const [to, other, secret] = [await talk('Much came', []), await talk('Little came', []), await talk('Sealed', [])];
    await forum.as.mia.put(`/api/discussions/${secret.id}`, { category_id: 'staff' });
    const ids = from.replies.map(({ id }) => id as string);
    await move(from, { post_ids: ids.slice(0, 3), discussion_id: to.id });
    await move(from, { post_ids: [ids[3]], discussion_id: other.id });
    await move(from, { post_ids: [ids[4]], discussion_id: secret.id });
    const address = `/d/${from.number}-much-left`;
    const lines = async (): Promise<readonly (string | undefined)[]> =>
      [
        ...(await page(address, 'ada')).matchAll(
          /<(?:article|div) class="post (?:removed|along)" id="post-\d"[^>]*>.*?<\/(?:article|div)>/g,
        ),
      ].map(([line]) =>
        line
          .replaceAll(/<[^>]*>/g, ' ')
          .replaceAll(/\s+/g, ' ')
          .trim(),
      );
    const several = '3 posts were moved to another discussion. Much came';
    const alone = ['Post 5 was moved to another discussion. Little came', 'Post 6 was moved to another discussion.'];
    expect(await lines()).toEqual([several, '', '', ...alone]);
    expect(await page(address, 'mia')).toContain('>Sealed</a>');
    await forum.as.ada.put(`/api/discussions/${to.id}`, { title: 'All of it came' });
    expect((await lines())[0]).toBe('3 posts were moved to another discussion. All of it came');
    await move({ id: to.id }, { post_ids: [ids[0]], discussion_id: other.id });
    expect((await lines()).slice(0, 3)).toEqual([
      'Post 2 was moved to another discussion. Little came',
      '2 posts were moved to another discussion. All of it came',
      '',
    ]);
    await forum.as.mia.delete(`/api/discussions/${to.id}`);
    expect((await lines())[1]).toBe('2 posts were moved to another discussion.');
    // Each place still has a URL.
    expect(await leads(`/d/${from.number}/4?here=1`)).toBe(`${address}#post-4`);
  });

  test('does not count them as deleted text that moderators may restore', async () => {
    const [from, to] = [await talk('Nothing here', ['bob']), await talk('All there', [])];
    await move(from, { post_ids: [from.replies[0].id], discussion_id: to.id });
    expect(await page(`/d/${from.number}-nothing-here`)).not.toContain('/restore"');
    await merge(from, to);
    expect(await leads(`/d/${from.number}-nothing-here`, 'mia')).toBe(`/d/${to.number}/3#post-3`);
  });
});

describe('the reply form of a merged discussion', () => {
  test('is that of the target, where text written meanwhile becomes a reply', async () => {
    const [from, to] = [await talk('Written in', ['bob', 'bob']), await talk('Taken over', ['bob'])];
    await merge(from, to);
    expect(await leads(`/d/${from.number}/reply?to=2`, 'ada')).toBe(`/d/${to.number}/reply`);
    const sent = await forum.as.ada.submit(`/d/${from.number}/reply?to=2`, { content: 'A long thought' });
    expect([sent.status, sent.headers.get('location')]).toEqual([303, `/d/${to.number}/6#post-6`]);
    const { posts } = await shown(to);
    expect(posts.at(-1)).toMatchObject({ content: 'A long thought', reply_to_number: null });
    const empty = await forum.as.ada.submit(`/d/${from.number}-written-in/reply`, { content: ' ' });
    expect(empty.status).toBe(400);
    expect(empty.text).toContain(`action="/d/${to.number}/reply"`);
  });

  test('does not exist for those who may not see the target', async () => {
    const [from, hidden] = [await talk('Open', ['bob']), await forum.start('mia', 'Among staff', 'staff')];
    await merge(from, hidden);
    expect(await leads(`/d/${from.number}/reply`, 'ada')).toBe(404);
    expect((await forum.as.ada.submit(`/d/${from.number}/reply`, { content: 'Lost' })).status).toBe(404);
    expect(await leads('/d/999999/reply', 'ada')).toBe(404);
    expect(await leads('/d/none/reply', 'ada')).toBe(404);
  });
});
