import { describe, expect, test } from 'vitest';
import { expectStatus, useForum } from './forum.ts';

/** Moderators pin discussions, permanently or until a day. */
const forum = useForum({ 'discussions.rate_limit': 1_000 });
const DAY = 86_400_000;
/** Ten minutes: no session expires by then. */
const SOON = 1 / 144;
const inDays = (days: number): string => new Date(forum.app.clock.now() + days * DAY).toISOString();
const pin = (id: string, body: object) => forum.as.mia.put(`/api/discussions/${id}`, body);
const record = async (id: string): Promise<any> =>
  expectStatus(await forum.guest.get(`/api/discussions/${id}`), 200).body.discussion;
const endPins = () => forum.app.runSchedule('discussions/job:end-pins');
const rowsIn = (text: string): number[] =>
  [...text.matchAll(/<article class="card[^>]*aria-labelledby="d-(\d+)"/g)].map(([, number]) => Number(number));

describe('a pin with an end', () => {
  test('keeps a discussion on top until then', async () => {
    const { id, number } = await forum.start('ada', 'Pinned for a while');
    for (let at = 0; at < 3; at++) {
      forum.app.clock.advance(1_000);
      await forum.start('bob', `Later ${at}`);
    }
    const until = inDays(SOON);
    expectStatus(await pin(id, { pinned_until: until }), 200);
    expect(await record(id)).toMatchObject({ is_pinned: true, pinned_until: until });
    const first = async () => rowsIn((await forum.guest.get('/')).text)[0];
    await endPins();
    expect(await first()).toBe(number);
    forum.app.clock.advance(SOON * DAY);
    forum.happened.length = 0;
    await endPins();
    expect(await record(id)).toMatchObject({ is_pinned: false, pinned_until: null });
    expect(await first()).not.toBe(number);
    expect(forum.happened.map(({ action }) => action)).toEqual(['discussion.updated']);
    // It is raised only once.
    await endPins();
    expect(forum.happened).toHaveLength(1);
  });

  test('is shown in a group above the others, in orders that put pins first', async () => {
    const { id, number } = await forum.start('ada', 'In its group', 'help');
    const { number: other } = await forum.start('bob', 'Outside of it', 'help');
    expectStatus(await pin(id, { pinned_in: 'category' }), 200);
    const grouped = async (path: string): Promise<number[]> =>
      rowsIn(/<section class="pinned-cards"[\s\S]*?<\/section>/.exec((await forum.guest.get(path)).text)?.[0] ?? '');
    expect(await grouped('/c/help')).toEqual([number]);
    expect(await grouped('/c/help?sort=newest')).toEqual([]);
    expect(await grouped('/')).not.toContain(number);
    expect(rowsIn((await forum.guest.get('/c/help')).text)).toEqual([number, other]);
    expectStatus(await pin(id, { is_pinned: false }), 200);
    expect(await grouped('/c/help')).toEqual([]);
  });

  test('lists each row once, whenever it ends during pagination', async () => {
    for (let at = 0; at < 45; at++) {
      forum.app.clock.advance(1_000);
      await forum.start(at % 2 ? 'ada' : 'mia', `Row ${at}`);
    }
    const { body } = await forum.guest.get('/api/discussions?limit=100&category_id=general');
    const all = body.discussions.map(({ number }: any) => number);
    const old = body.discussions.at(-1);
    await pin(old.id, { pinned_until: inDays(SOON) });
    const found: number[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const path: string = `/api/discussions?limit=20&category_id=general${cursor && `&cursor=${cursor}`}`;
      const { discussions, next_cursor: next }: any = expectStatus(await forum.guest.get(path), 200).body;
      found.push(...discussions.map(({ number }: any) => number));
      cursor = next;
    }
    expect(found).toHaveLength(all.length);
    expect(found[0]).toBe(old.number);
    forum.app.clock.advance(SOON * DAY);
    await endPins();
    const pages = await Promise.all([1, 2, 3].map((page) => forum.guest.get(`/c/general?page=${page}`)));
    const rows = pages.flatMap(({ text }) => rowsIn(text));
    expect([rows.length, new Set(rows).size, rows.at(-1)]).toEqual([all.length, all.length, old.number]);
  });

  test('is changed and removed with the pin', async () => {
    const { id } = await forum.start('ada', 'Changing pins');
    const until = inDays(3);
    const state = async () => {
      const { is_pinned: pinned, pinned_until: end } = await record(id);
      return [pinned, end];
    };
    await pin(id, { is_pinned: true, pinned_until: until });
    expect(await state()).toEqual([true, until]);
    await pin(id, { title: 'Changing the pins' });
    expect(await state()).toEqual([true, until]);
    await pin(id, { pinned_until: null });
    expect(await state()).toEqual([true, null]);
    await pin(id, { pinned_until: until });
    await pin(id, { is_pinned: true });
    expect(await state()).toEqual([true, null]);
    await pin(id, { pinned_until: until });
    await pin(id, { is_pinned: false });
    expect(await state()).toEqual([false, null]);
    await pin(id, { pinned_until: null });
    expect(await state()).toEqual([false, null]);
  });

  test('is for moderators only, and must be in the future', async () => {
    const { id } = await forum.start('ada', 'No pins');
    expect((await forum.as.ada.put(`/api/discussions/${id}`, { pinned_until: inDays(1) })).status).toBe(403);
    for (const until of [inDays(-1), 'tomorrow', '2026-13-01T00:00:00Z', 5]) {
      const { status, body } = await pin(id, { pinned_until: until });
      expect([status, body.details?.[0]?.field], String(until)).toEqual([400, 'pinned_until']);
    }
    expect(await record(id)).toMatchObject({ is_pinned: false, pinned_until: null });
  });

  test('is chosen by day in the moderators’ form, in the site’s time zone', async () => {
    const { id, number } = await forum.start('ada', 'Pinned by form');
    const form = `/d/${number}/edit`;
    expect((await forum.as.ada.get(form)).text).not.toContain('name="pinned_until"');
    expect((await forum.as.mia.get(form)).text).toContain('name="pinned_until" type="date" value=""');
    const day = inDays(5).slice(0, 10);
    const fields = { title: 'Pinned by form', category_id: 'general', reason: 'A week of it' };
    expectStatus(await forum.as.mia.submit(form, { ...fields, pinned_until: day }), 303);
    const end = new Date(Date.parse(day) + DAY).toISOString();
    expect(await record(id)).toMatchObject({ is_pinned: true, pinned_until: end });
    expect((await forum.as.mia.get(form)).text).toContain(`name="pinned_until" type="date" value="${day}"`);
    // A save by the author does not change it.
    expectStatus(await forum.as.ada.submit(form, { ...fields, pinned_until: '' }), 303);
    expect(await record(id)).toMatchObject({ is_pinned: true, pinned_until: end });
    expectStatus(await forum.as.mia.submit(form, { ...fields, pinned_until: '' }), 303);
    expect(await record(id)).toMatchObject({ is_pinned: true, pinned_until: null });
    const refused = await forum.as.mia.submit(form, { ...fields, pinned_until: inDays(-3).slice(0, 10) });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('must be in the future');
    await pin(id, { is_pinned: false });
  });
});

describe('a pin in its category only', () => {
  const topOf = async (path: string) => rowsIn((await forum.guest.get(path)).text)[0];
  const later = async () => {
    forum.app.clock.advance(1_000);
    return (await forum.start('bob', 'Said later')).number;
  };
  const unpin = (id: string) => pin(id, { is_pinned: false });

  test('is on top there, and an ordinary row on the front page', async () => {
    const { id, number } = await forum.start('ada', 'House rules of a category');
    expect(expectStatus(await pin(id, { pinned_in: 'category' }), 200).body.discussion).toMatchObject({
      is_pinned: true,
      pinned_in: 'category',
      pinned_until: null,
    });
    const newest = await later();
    expect([await topOf('/c/general'), await topOf('/')]).toEqual([number, newest]);
    // It is marked as pinned only where it is on top.
    const row = async (path: string): Promise<string> =>
      new RegExp(`<article class="[^"]*"[^>]*d-${number}"`).exec((await forum.guest.get(path)).text)?.[0] ?? '';
    expect([await row('/c/general'), await row('/')]).toEqual([
      expect.stringContaining('card pinned'),
      expect.not.stringContaining('pinned'),
    ]);
    const listed = async (query: string) => {
      const { discussions, html } = expectStatus(await forum.guest.get(`/api/discussions?${query}`), 200).body;
      return [discussions[0].number, rowsIn(html)[0]];
    };
    expect(await listed('category_id=general')).toEqual([number, number]);
    expect(await listed('')).toEqual([newest, newest]);
    await pin(id, { pinned_in: 'everywhere' });
    expect([await topOf('/c/general'), await topOf('/')]).toEqual([number, number]);
    await unpin(id);
  });

  test('is one of two places, and pins and unpins on its own', async () => {
    const { id } = await forum.start('ada', 'Places of pins');
    const until = inDays(3);
    const after = async (change: object) => {
      expectStatus(await pin(id, change), 200);
      const { is_pinned: pinned, pinned_in: place, pinned_until: end } = await record(id);
      return [pinned, place, end];
    };
    expect(await after({ is_pinned: true })).toEqual([true, 'everywhere', null]);
    expect(await after({ pinned_in: null })).toEqual([false, null, null]);
    expect(await after({ pinned_in: 'category', pinned_until: until })).toEqual([true, 'category', until]);
    // Changing one of them keeps the other.
    expect(await after({ pinned_in: 'everywhere' })).toEqual([true, 'everywhere', until]);
    expect(await after({ pinned_in: 'category' })).toEqual([true, 'category', until]);
    expect(await after({ pinned_until: null })).toEqual([true, 'category', null]);
    expect(await after({ is_pinned: true })).toEqual([true, 'category', null]);
    expect(await after({ is_pinned: false })).toEqual([false, null, null]);
    expect(await after({ pinned_until: until })).toEqual([true, 'everywhere', until]);
    await unpin(id);
    for (const place of ['home', '', 1]) {
      const { status, body } = await pin(id, { pinned_in: place });
      expect([status, body.details?.[0]?.field], String(place)).toEqual([400, 'pinned_in']);
    }
    expect((await forum.as.ada.put(`/api/discussions/${id}`, { pinned_in: 'category' })).status).toBe(403);
  });

  test.each([
    { is_pinned: true, pinned_in: null },
    { is_pinned: false, pinned_in: 'category' },
  ])('that contradicts is_pinned is refused: %o', async (body) => {
    const { id } = await forum.start('ada', 'Both at once');
    const answer = await pin(id, body);
    expect([answer.status, answer.body.details?.[0]?.field]).toEqual([400, 'pinned_in']);
  });

  test('raises the same action as any pin', async () => {
    const { id } = await forum.start('ada', 'Pins are told');
    forum.happened.length = 0;
    for (const place of ['category', 'category', 'everywhere', null]) await pin(id, { pinned_in: place });
    expect(forum.happened.map(({ action }) => action)).toEqual(Array(4).fill('discussion.updated'));
  });

  test('is chosen in the form on the discussion’s page, and in the moderators’ form', async () => {
    const { id, number } = await forum.start('ada', 'Pinned on its page');
    const page = async (client = forum.as.mia) => (await client.get(`/d/${number}-pinned-on-its-page`)).text;
    expect(await page(forum.as.ada)).not.toContain('discussion-pin');
    const today = inDays(0).slice(0, 10);
    expect(await page()).toContain(`name="pinned_until" type="date" value="" min="${today}"`);
    const day = inDays(5).slice(0, 10);
    const moderate = (fields: object) => forum.as.mia.submit(`/d/${number}/moderate`, { action: 'pin', ...fields });
    expectStatus(await moderate({ pinned_in: 'category', pinned_until: day }), 303);
    const end = new Date(Date.parse(day) + DAY).toISOString();
    expect(await record(id)).toMatchObject({ pinned_in: 'category', pinned_until: end });
    expect(await page()).toContain('<option value="category" selected>');
    expect((await forum.as.mia.get(`/d/${number}/edit`)).text).toContain('<option value="category" selected>');
    const fields = { title: 'Pinned on its page', category_id: 'general', reason: '' };
    expectStatus(
      await forum.as.mia.submit(`/d/${number}/edit`, { ...fields, pinned_in: 'everywhere', pinned_until: '' }),
      303,
    );
    expect(await record(id)).toMatchObject({ pinned_in: 'everywhere', pinned_until: null });
    expectStatus(await forum.as.mia.submit(`/d/${number}/edit`, { ...fields, pinned_in: '', pinned_until: day }), 303);
    expect(await record(id)).toMatchObject({ is_pinned: false, pinned_in: null, pinned_until: null });
    // Without further fields it is pinned as by default.
    expectStatus(await moderate({}), 303);
    expect(await record(id)).toMatchObject({ pinned_in: 'everywhere', pinned_until: null });
    expectStatus(await forum.as.mia.submit(`/d/${number}/moderate`, { action: 'unpin' }), 303);
  });
});
