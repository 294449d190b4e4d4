import { beforeAll, describe, expect, test, vi } from 'vitest';
import { sql } from 'parley-forum';
import { Categories, Importer } from 'parley-forum/plugins/discussions';
import { expectStatus, useForum } from './forum.ts';

const forum = useForum();
const MOST = 2 * 1024 * 1024;

/** Imports a discussion of so many posts with this text; resolves to its number. */
async function bring(title: string, count: number, text: string): Promise<number> {
  const categoryId = forum.app.app
    .service(Categories)
    .all()
    .find(({ slug }) => slug === 'general')!.id;
  const createdAt = new Date('2026-01-02T03:04:00Z');
  const posts = Array.from({ length: count }, (_, at) => ({
    authorId: at % 2 ? forum.ids.bob : forum.ids.ada,
    content: 'x',
    html: `<p>Post ${at + 1}, ${text}</p>`,
    createdAt,
  }));
  await forum.app.app
    .service(Importer)
    .importDiscussions([{ title, categoryId, authorId: forum.ids.ada, createdAt, posts }]);
  const { data } = forum.app.app;
  return (await data.one(sql<{ number: number }>`select number from discussion where title = ${title}`))!.number;
}
const printed = async (path: string): Promise<string> => expectStatus(await forum.guest.get(path), 200).text;
const numbersOn = (page: string): readonly number[] =>
  [...page.matchAll(/class="(?:meta )?printed" id="post-(\d+)"/g)].map(([, number]) => Number(number));
const NEXT = /rel="next" href="([^"]+)"/;

let long: number;
beforeAll(async () => {
  long = await bring('A long one', 612, 'short');
});

describe('the page to print a discussion from', () => {
  test('has up to 500 posts with authors and times, and leads to the others', async () => {
    const first = await printed(`/d/${long}/print`);
    expect(numbersOn(first)).toEqual(Array.from({ length: 500 }, (_, at) => at + 1));
    expect(first).toContain('<p>Post 500, short</p>');
    expect(first).toMatch(/<time datetime="2026-01-02T03:04:00.000Z"/);
    expect(first).toContain('Posts 1 to 500 of 612');
    expect(first).toContain('<meta name="robots" content="noindex">');
    const rest = NEXT.exec(first)?.[1];
    expect(rest).toBe(`/d/${long}/print?from=501`);
    const second = await printed(rest!);
    expect(numbersOn(second)).toEqual(Array.from({ length: 112 }, (_, at) => at + 501));
    expect(second).not.toMatch(NEXT);
    expect((await forum.guest.get(`/d/${long}/print?from=613`)).status).toBe(404);
    expect((await forum.guest.get(`/d/${long}/print?from=0`)).status).toBe(400);
  });

  test('takes as many statements for 500 posts as for one', async () => {
    const count = (of: number): Promise<number> => forum.app.statements(() => forum.as.bob.get(`/d/${of}/print`));
    await count(long);
    const [few, many] = [await count(await bring('Few', 4, 'x')), await count(await bring('Many', 400, 'x'))];
    expect(many).toBeLessThanOrEqual(few);
  });

  test('is never larger than 2 MiB', async () => {
    const number = await bring('Long posts', 30, 'x'.repeat(100_000));
    const page = await printed(`/d/${number}/print`);
    expect(Buffer.byteLength(page)).toBeLessThan(MOST);
    const shown = numbersOn(page).length;
    expect(shown).toBeLessThan(30);
    expect(NEXT.exec(page)?.[1]).toBe(`/d/${number}/print?from=${shown + 1}`);
  });

  test('is never larger than that because of the cards of links', async () => {
    // An address that is refused without a request, so that the preview below stays.
    const url = 'https://127.0.0.1/';
    const link = `<p dir="auto"><a href="${url}" rel="nofollow">${url}</a></p>`;
    const number = await bring('Links', 500, `</p>${link.repeat(5)}<p>`);
    const { data } = forum.app.app;
    await vi.waitFor(async () =>
      expect(
        await data.all(sql`update link_preview set title = ${'"'.repeat(200)}, description = ${'"'.repeat(300)}
        where url = ${url} and failures > 0 returning 1`),
      ).toHaveLength(1),
    );
    const page = await printed(`/d/${number}/print`);
    expect(page).toContain('class="link-preview"');
    expect(Buffer.byteLength(page)).toBeLessThan(MOST);
    const shown = numbersOn(page).length;
    expect(NEXT.exec(page)?.[1]).toBe(`/d/${number}/print?from=${shown + 1}`);
    expect(page).toContain(`Posts 1 to ${shown} of 500`);
  });

  test('has no text of posts that were deleted or moved, not for moderators either', async () => {
    const { id, number } = await forum.start('ada', 'Gone');
    const gone = await forum.reply('bob', id, 'Regrettable words');
    const moved = await forum.reply('bob', id, 'Somewhere else');
    expectStatus(await forum.as.bob.delete(`/api/posts/${gone.id}`), 200);
    const move = { post_ids: [moved.id], title: 'Apart', category_id: 'general' };
    expectStatus(await forum.as.mia.post(`/api/discussions/${id}/move-posts`, move), 200);
    for (const client of [forum.guest, forum.as.mia]) {
      const { text } = expectStatus(await client.get(`/d/${number}/print`), 200);
      expect(numbersOn(text)).toEqual([1, 2, 3]);
      expect(text).toContain('Post 2 was removed.');
      expect(text).toContain('Post 3 was moved to another discussion.');
      expect(text).not.toMatch(/Regrettable|Somewhere else/);
    }
  });

  test('is there for those who may read the discussion, and follows a merged one', async () => {
    const { number } = await forum.start('mia', 'Rota', 'staff');
    expect((await forum.guest.get(`/d/${number}/print`)).status).toBe(404);
    expect((await forum.as.ada.get(`/d/${number}/print`)).status).toBe(404);
    expect((await forum.as.mia.get(`/d/${number}/print`)).status).toBe(200);
    const { id, number: merged } = await forum.start('ada', 'Twice');
    const { id: into, number: target } = await forum.start('ada', 'Once');
    expectStatus(await forum.as.mia.post(`/api/discussions/${id}/merge`, { into }), 200);
    const answer = await forum.guest.get(`/d/${merged}/print`);
    expect([answer.status, answer.headers.get('location')]).toEqual([302, expect.stringContaining(`/d/${target}`)]);
  });

  test('is linked from the discussion, which says on paper where the rest is', async () => {
    const page = await printed(`/d/${long}-a-long-one?page=2`);
    expect(page).toContain(`<a href="/d/${long}/print">Print</a>`);
    expect(page).toMatch(
      new RegExp(`class="print-only">These are posts 21 to 40 of 612\\.[^<]*<bdi>https?://[^<]+/d/${long}/print</bdi>`),
    );
    const { id, number } = await forum.start('ada', 'Short');
    await forum.reply('bob', id, 'Indeed');
    expect(await printed(`/d/${number}-short`)).not.toContain('class="print-only"');
  });
});
