import { describe, expect, test } from 'vitest';
import { expectStatus, useForum } from './forum.ts';

/** Moderators pin discussions, for good or until a day. */
const forum = useForum({ 'discussions.rate_limit': 1_000 });
const DAY = 86_400_000;
/** Ten minutes: nobody is logged out by then. */
const SOON = 1 / 144;
const inDays = (days: number): string => new Date(forum.app.clock.now() + days * DAY).toISOString();
const pin = (id: string, body: object) => forum.as.mia.put(`/api/discussions/${id}`, body);
const record = async (id: string): Promise<any> =>
  expectStatus(await forum.guest.get(`/api/discussions/${id}`), 200).body.discussion;
const endPins = () => forum.app.runSchedule('discussions/job:end-pins');
const rowsIn = (text: string): number[] =>
  [...text.matchAll(/<article class="card[^>]*aria-labelledby="d-(\d+)"/g)].map(([, number]) => Number(number));

describe('a pin with an end', () => {
  test('keeps a discussion on top until then, and no longer', async () => {
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
    // Once is enough.
    await endPins();
    expect(forum.happened).toHaveLength(1);
  });

  test('has each row of the list once, whenever it ends on the way', async () => {
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

  test('is changed, and taken off, with the pin', async () => {
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

  test('is for moderators, and lies in the future', async () => {
    const { id } = await forum.start('ada', 'No pins');
    expect((await forum.as.ada.put(`/api/discussions/${id}`, { pinned_until: inDays(1) })).status).toBe(403);
    for (const until of [inDays(-1), 'tomorrow', '2026-13-01T00:00:00Z', 5]) {
      const { status, body } = await pin(id, { pinned_until: until });
      expect([status, body.details?.[0]?.field], String(until)).toEqual([400, 'pinned_until']);
    }
    expect(await record(id)).toMatchObject({ is_pinned: false, pinned_until: null });
  });

  test('is chosen by day in the form of moderators, in the time zone of the site', async () => {
    const { id, number } = await forum.start('ada', 'Pinned by form');
    const form = `/d/${number}/edit`;
    expect((await forum.as.ada.get(form)).text).not.toContain('pinned_until');
    expect((await forum.as.mia.get(form)).text).toContain('name="pinned_until" type="date" value=""');
    const day = inDays(5).slice(0, 10);
    const fields = { title: 'Pinned by form', category_id: 'general', reason: 'A week of it' };
    expectStatus(await forum.as.mia.submit(form, { ...fields, pinned_until: day }), 303);
    const end = new Date(Date.parse(day) + DAY).toISOString();
    expect(await record(id)).toMatchObject({ is_pinned: true, pinned_until: end });
    expect((await forum.as.mia.get(form)).text).toContain(`name="pinned_until" type="date" value="${day}"`);
    // Its author says nothing about it.
    expectStatus(await forum.as.ada.submit(form, { ...fields, pinned_until: '' }), 303);
    expect(await record(id)).toMatchObject({ is_pinned: true, pinned_until: end });
    expectStatus(await forum.as.mia.submit(form, { ...fields, pinned_until: '' }), 303);
    expect(await record(id)).toMatchObject({ is_pinned: true, pinned_until: null });
    const refused = await forum.as.mia.submit(form, { ...fields, pinned_until: inDays(-3).slice(0, 10) });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('must be in the future');
  });
});
