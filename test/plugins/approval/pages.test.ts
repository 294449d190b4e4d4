import { beforeAll, describe, expect, test } from 'vitest';
import { leastOf, type Client } from 'parley-forum/testing';
import { expectStatus, PASSWORD } from '../discussions/forum.ts';
import { useApproval } from './forum.ts';

const { forum, reply, discuss, held, queue, own, approve, reject, set, newcomer } = useApproval();
const NOTICE = 'Your post will appear once a moderator has approved it.';
let lobby: { readonly id: string; readonly number: number };
let nora: Client;

const text = async (client: Client, path: string): Promise<string> => expectStatus(await client.get(path), 200).text;
const clear = async (): Promise<void> => {
  for (const { id } of await queue('root')) await reject('root', id);
};

beforeAll(async () => {
  lobby = await forum.start('mia', 'The lobby');
  ({ client: nora } = await newcomer('nora'));
});

describe('a member without JavaScript', () => {
  test('is informed that their reply is held, finds it, and can withdraw it', async () => {
    const answer = await nora.submit(`/d/${lobby.number}/reply`, { content: 'A **numbat**' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/settings/held-posts']);
    const page = await text(nora, '/settings/held-posts');
    expect(page).toContain(NOTICE);
    expect(page).toContain('Reply to “The lobby”');
    expect(page).toContain('A <strong>numbat</strong>');
    expect(page).toContain('Awaiting approval');
    const [{ id }] = await own(nora);
    expect(await text(nora, `/settings/held-posts/${id}`)).toContain('A **numbat**');
    expect((await nora.submit(`/settings/held-posts/${id}/withdraw`)).status).toBe(303);
    expect(await text(nora, '/settings/held-posts')).toContain('No posts awaiting approval');
    expect(await queue()).toEqual([]);
    expect((await nora.submit(`/settings/held-posts/${id}/withdraw`)).status).toBe(404);
  });

  test('starts a discussion that is held, and the drafts of what they sent are deleted', async () => {
    await nora.put('/api/drafts/new', { fields: { title: 'On numbats', content: 'x' } });
    await nora.put(`/api/drafts/reply-${lobby.id}`, { fields: { content: 'Words' } });
    const general = (await forum.guest.get('/api/categories/general')).body.category.id;
    const form = { title: 'On numbats', content: 'They eat termites', category_id: general };
    const answer = await nora.submit('/new', form);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/settings/held-posts']);
    expect((await nora.get('/api/drafts')).body.drafts.map(({ key }: { key: string }) => key)).toEqual([
      `reply-${lobby.id}`,
    ]);
    expectStatus(await nora.submit(`/d/${lobby.number}/reply`, { content: 'Words' }), 303);
    expect((await nora.get('/api/drafts')).body.drafts).toEqual([]);
    await clear();
  });

  test('keeps their input when ten posts are held already', async () => {
    for (let at = 0; at < 10; at++) await held(reply(nora, lobby.id, `Number ${at}`));
    const refused = await nora.submit(`/d/${lobby.number}/reply`, { content: 'One too many' });
    expect(refused.status).toBe(409);
    expect(refused.text).toContain('10 of your posts are waiting for a moderator');
    expect(refused.text).toContain('One too many');
    await clear();
  });

  test('reads the outcome in German', async () => {
    await newcomer('gerda');
    const [gerda, mia] = [forum.app.client({ 'accept-language': 'de' }), forum.app.client({ 'accept-language': 'de' })];
    await gerda.login('gerda', PASSWORD);
    await mia.login('mia', PASSWORD);
    expectStatus(await gerda.submit(`/d/${lobby.number}/reply`, { content: 'Guten Tag' }), 303);
    expect(await text(gerda, '/settings/held-posts')).toContain(
      'Dein Beitrag erscheint, sobald die Moderation ihn angesehen hat.',
    );
    const [{ id }] = await queue();
    expectStatus(await reject('root', id), 200);
    const refused = await mia.submit(`/mod/approval/${id}`, { decision: 'approve' });
    expect([refused.status, refused.text.includes('Dieser Beitrag ist schon abgelehnt')]).toEqual([409, true]);
  });
});

describe('the queue', () => {
  test('shows each post rendered, with its author, destination and reason', async () => {
    await held(reply(nora, lobby.id, 'With <b>tags</b> and *stars*'));
    await held(discuss(nora, 'Numbats & more'));
    const page = await text(forum.as.mia, '/mod/approval');
    expect(page).toContain('Reply to “The lobby”');
    expect(page).toContain('<em>stars</em>');
    expect(page).toContain('Numbats &amp; more');
    expect(page).toContain('One of the author’s first posts');
    expect(page).toContain('0 posts · no upheld reports or sanctions');
    expect(page.match(/href="\/u\/nora"/g)).toHaveLength(2);
    expect(page).toMatch(/href="\/mod\/approval"[^>]*>.*?class="count">2</s);
    expect(page.indexOf('The lobby')).toBeLessThan(page.indexOf('Numbats &amp; more'));
    const [{ id }] = await queue();
    expect(await text(forum.as.mia, `/mod/approval/${id}`)).toContain('<em>stars</em>');
    for (const path of ['/mod/approval', `/mod/approval/${id}`]) {
      expect((await forum.guest.get(path)).status).toBe(303);
      expect((await forum.as.bob.get(path)).status).toBe(403);
    }
    await clear();
    expect((await forum.as.mia.get(`/mod/approval/${id}`)).status).toBe(404);
  });

  test('is processed by forms, and a second decision is refused', async () => {
    const [one, two] = [await held(reply(nora, lobby.id, 'One')), await held(reply(nora, lobby.id, 'Two'))];
    const approved = await forum.as.mia.submit(`/mod/approval/${one}`, { decision: 'approve', reason: '' });
    expect([approved.status, approved.headers.get('location')]).toEqual([303, '/mod/approval']);
    expect(await text(forum.as.mia, '/mod/approval')).toContain('The post was published.');
    const second = await forum.as.root.submit(`/mod/approval/${one}`, { decision: 'reject', reason: 'Late' });
    expect([second.status, second.text.includes('This post was already approved')]).toEqual([409, true]);
    expect(second.text).toContain(`/mod/approval/${two}`);
    const wrong = await forum.as.mia.submit(`/mod/approval/${two}`, { decision: 'reject', reason: 'x'.repeat(501) });
    expect([wrong.status, wrong.text.includes('x'.repeat(501))]).toEqual([400, true]);
    await forum.as.mia.submit(`/mod/approval/${two}`, { decision: 'reject', reason: 'Say more' });
    expect(await text(nora, '/settings/held-posts')).toContain('Say more');
    expect((await forum.as.mia.submit(`/mod/approval/${two}`, { decision: 'burn' })).status).toBe(400);
    const log = () => text(forum.as.mia, '/mod/log');
    await expect.poll(log).toMatch(/Held post rejected.*?Say more/s);
    expect(await log()).toMatch(/<strong>Held post approved/);
    await forum.app.calm();
    const audit = await forum.as.root.get('/admin/audit');
    expect(audit.text).toContain('Held post rejected by a moderator');
  });

  test('has pages, and separate pages for long posts', async () => {
    await set({ 'approval.first_posts': 50 });
    const { client } = await newcomer('ingo');
    const long = await held(reply(nora, lobby.id, `${'A long text. '.repeat(2_000)} The very end.`));
    for (let at = 0; at < 10; at++) await held(reply(client, lobby.id, `Number ${at}`));
    const page = await text(forum.as.mia, '/mod/approval');
    expect([page.includes('The very end.'), page.includes('Read the full post')]).toEqual([false, true]);
    expect(page).toContain('/mod/approval?page=2');
    expect(await text(forum.as.mia, `/mod/approval/${long}`)).toContain('The very end.');
    expect(await text(forum.as.mia, '/mod/approval?page=2')).toContain('Number 9');
    expect((await forum.as.mia.get('/mod/approval?page=3')).status).toBe(404);
    const least = (path: string) => leastOf(() => forum.app.statements(() => forum.as.mia.get(path)));
    expect(await least('/mod/approval')).toBe(await least('/mod/approval?page=2'));
    await clear();
    await set({ 'approval.first_posts': 2 });
  });
});

describe('other pages', () => {
  test('show members whose posts may be held a settings tab, at no cost', async () => {
    const tab = async (client: Client) => (await text(client, '/settings/profile')).includes('/settings/held-posts');
    expect([await tab(nora), await tab(forum.as.mia), await tab(forum.as.root)]).toEqual([true, false, false]);
    const least = () => leastOf(() => forum.app.statements(() => nora.get('/settings/profile')));
    const shown = await least();
    await set({ 'approval.first_posts': 0 });
    expect(await tab(nora)).toBe(false);
    expect(await least()).toBe(shown);
    await set({ 'approval.first_posts': 2 });
  });

  test('show moderators an exact count, at no cost while nothing changes', async () => {
    const number = async (): Promise<number> => {
      const [, item = ''] =
        /<a class="menu-item" href="\/mod\/approval">(.*?)<\/a>/s.exec((await forum.as.mia.get('/')).text) ?? [];
      return Number(/class="count">(\d+)/.exec(item)?.[1] ?? 0);
    };
    const { client } = await newcomer('otto');
    expect(await number()).toBe(0);
    const [one, two, three] = [
      await held(reply(client, lobby.id, 'One')),
      await held(reply(client, lobby.id, 'Two')),
      await held(reply(client, lobby.id, 'Three')),
    ];
    expect(await number()).toBe(3);
    expectStatus(await approve('mia', one), 200);
    expect(await number()).toBe(2);
    expectStatus(await reject('root', two), 200);
    expect(await number()).toBe(1);
    await client.delete(`/api/held-posts/${three}`);
    expect(await number()).toBe(0);
    for (const path of ['/categories', '/categories']) await forum.as.mia.get(path);
    expect(await forum.app.statements(() => forum.as.mia.get('/categories'))).toBe(0);
  });
});
