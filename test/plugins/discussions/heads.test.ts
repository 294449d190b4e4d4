import sharp from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { Access } from 'parley-forum/plugins/access';
import { Categories, type Category } from 'parley-forum/plugins/discussions';
import { formFields } from '../web/form-fields.ts';
import { useForum } from './forum.ts';

const forum = useForum({ 'site.name': 'The Slipway' });
const PLACE = 'http://forum.test';

interface Head {
  readonly canonical: string | undefined;
  readonly meta: Readonly<Record<string, string>>;
  readonly data: any;
}
async function head(path: string): Promise<Head> {
  const { status, text } = await forum.guest.get(path);
  expect(status, path).toBe(200);
  const tags = [...text.matchAll(/<meta (?:property|name)="([^"]+)" content="([^"]*)"/g)].map(
    ([, name = '', content = '']) => [name, content],
  );
  const data = /<script type="application\/ld\+json">(.*?)<\/script>/s.exec(text)?.[1];
  return {
    canonical: /<link rel="canonical" href="([^"]+)"/.exec(text)?.[1],
    meta: Object.fromEntries(tags),
    data: data && JSON.parse(data),
  };
}

let picture: string;
let one: { readonly id: string; readonly number: number };
beforeAll(async () => {
  const body = new FormData();
  const bytes = await sharp({ create: { width: 90, height: 50, channels: 3, background: '#2a7' } })
    .png()
    .toBuffer();
  body.append('file', new Blob([new Uint8Array(bytes)]), 'boat.png');
  picture = new URL((await forum.as.ada.request('POST', '/api/uploads', { body })).body.upload.url).pathname;
  for (let at = 0; at < 25; at++) await forum.start('ada', `Boat ${at}`);
  const content = `Look: ![A “green” boat](${picture})`;
  const { discussion } = (
    await forum.as.ada.post('/api/discussions', { title: 'Green', content, category_id: 'general', tags: ['paint'] })
  ).body;
  one = discussion;
  for (let at = 0; at < 21; at++) await forum.reply('bob', one.id, `Answer ${at} <script>`);
});

describe('the head of a page', () => {
  test('has the canonical URL, on later pages and in any order too', async () => {
    const list = async (path: string) => (await head(path)).canonical;
    expect([await list('/'), await list('/?page=2'), await list('/discussions?page=2')]).toEqual([
      `${PLACE}/`,
      `${PLACE}/?page=2`,
      `${PLACE}/?page=2`,
    ]);
    expect([await list('/c/general'), await list('/c/general?page=2')]).toEqual([
      `${PLACE}/c/general`,
      `${PLACE}/c/general?page=2`,
    ]);
    expect([await list('/u/ada'), await list('/u/ada?page=2')]).toEqual([`${PLACE}/u/ada`, `${PLACE}/u/ada?page=2`]);
    expect(await list('/?sort=newest&page=2')).toBe(`${PLACE}/`);
    expect(await list('/t/paint')).toBe(`${PLACE}/t/paint`);
    expect((await forum.guest.get('/?page=2')).text).toMatch(/rel="prev" href="\/"/);
  });

  test('has a picture with size and alt text: the site’s, or the first of the discussion', async () => {
    const own = (await head('/')).meta;
    expect(own).toMatchObject({
      'og:image:width': '1200',
      'og:image:height': '630',
      'og:image:alt': 'The Slipway',
      'twitter:card': 'summary_large_image',
    });
    const file = await fetch(own['og:image']!.replace(PLACE, forum.app.url));
    expect([file.status, file.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect((await head(`/d/${one.number}-green`)).meta).toMatchObject({
      'og:image': PLACE + picture,
      'og:image:width': '90',
      'og:image:height': '50',
      'og:image:alt': 'A “green” boat',
      'twitter:card': 'summary',
    });
    await forum.app.app.settings.set({ 'site.picture': 'https://pictures.test/a.png' });
    expect((await head('/categories')).meta['og:image']).toBe('https://pictures.test/a.png');
    await expect(forum.app.app.settings.set({ 'site.picture': '//elsewhere/a.png' })).rejects.toThrow('site.picture');
    await expect(forum.app.app.settings.set({ 'site.picture': 'javascript:alert(1)' })).rejects.toThrow('site.picture');
    await forum.app.app.settings.reset(['site.picture']);
  });

  test('describes the replies and their authors to search engines', async () => {
    const first = (await head(`/d/${one.number}-green`)).data;
    expect(first).toMatchObject({
      '@type': 'DiscussionForumPosting',
      url: `${PLACE}/d/${one.number}-green`,
      commentCount: 21,
      image: PLACE + picture,
      author: { '@type': 'Person', name: 'ada', url: `${PLACE}/u/ada` },
      interactionStatistic: { interactionType: 'https://schema.org/CommentAction', userInteractionCount: 21 },
    });
    expect(first.comment).toHaveLength(19);
    expect(first.comment[0]).toEqual({
      '@type': 'Comment',
      text: 'Answer 0 <script>',
      url: `${PLACE}/d/${one.number}/2#post-2`,
      position: 2,
      datePublished: expect.any(String),
      author: { '@type': 'Person', name: 'bob', url: `${PLACE}/u/bob` },
    });
    const second = (await head(`/d/${one.number}-green?page=2`)).data;
    expect(second.comment.map(({ position }: { position: number }) => position)).toEqual([21, 22]);
    expect((await forum.as.ada.get(`/d/${one.number}-green`)).text).not.toContain('ld+json');
  });
});

test('a picture in a post has the dimensions of its file, and no others', async () => {
  const { text } = await forum.guest.get(`/d/${one.number}-green`);
  expect(text).toMatch(new RegExp(`<img src="${picture}" alt="A “green” boat"[^>]* width="90" height="50"`));
  const missing = picture.replace(/-[0-9a-f]{12}\//, '-000000000000/');
  expect((await forum.reply('bob', one.id, `![x](${missing})`)).html).not.toContain('width=');
});

describe('the reply form', () => {
  test('shows the post being answered: the chosen one, else the first, and never one of another discussion', async () => {
    const answered = async (query: string) => {
      const { text } = await forum.as.mia.get(`/d/${one.number}/reply${query}`);
      return /<figure class="answered"[^>]*>.*?<\/figure>/s
        .exec(text)?.[0]
        .replace(/<[^>]+>|\s+/g, ' ')
        .replace(/\s+/g, ' ')
        .trim();
    };
    expect(await answered('?to=3')).toBe('Answer 1 &lt;script&gt; bob · “Green”, post 3 Remove');
    expect(await answered('')).toBe('Look: A “green” boat ada · “Green”, post 1');
    expect(await answered('?to=33')).toContain('“Green”, post 1');
    expect(await answered('?to=nothing')).toContain('“Green”, post 1');
    expect((await forum.as.mia.get(`/d/${one.number}`)).status).toBe(301);
    expect((await forum.as.mia.get(`/d/${one.number}-green`)).text).toContain(`/d/${one.number}/reply?to=3`);
    const refused = await forum.as.mia.submit(`/d/${one.number}/reply?to=3`, { content: ' ' });
    expect([refused.status, refused.text.includes('“Green”, post 3')]).toEqual([400, true]);
  });

  test('has an upload field, which the form of title and category has not', async () => {
    expect((await forum.as.ada.get(`/d/${one.number}/reply`)).text).toContain('<x-upload');
    expect((await forum.as.ada.get(`/d/${one.number}/edit`)).text).not.toContain('<x-upload');
    expect((await forum.as.ada.get('/new')).text).toContain('<x-upload');
  });
});

describe('an administration form', () => {
  test('for a category shows and saves what was stored, even if it offers less', async () => {
    const { app } = forum.app;
    const [categories, access] = [app.service(Categories), app.service(Access)];
    const [crew, cooks] = await Promise.all([
      access.saveGroup({ name: 'Crew', level: 'member' }),
      access.saveGroup({ name: 'Cooks', level: 'member' }),
    ]);
    const parent = categories.all().find(({ slug }) => slug === 'general')!;
    const given = {
      name: 'Galley',
      description: '',
      parentId: parent.id,
      hue: 205,
      icon: '',
      position: 0,
      view: [crew.id, cooks.id],
      create: ['admin'],
      reply: 'members',
    } as const;
    const { id } = await categories.save(given as unknown as Category);
    const page = await forum.as.root.get(`/admin/categories?id=${id}`);
    const { _opened, ...fields } = formFields(page.text, '/admin/categories/save');
    expect(fields).toMatchObject({
      hue: '205',
      parent_id: parent.id,
      position: '0',
      view: `${crew.id} ${cooks.id}`,
      create: 'admin',
      reply: 'members',
      description: '',
    });
    expect((await forum.as.root.submit('/admin/categories/save', fields)).status).toBe(303);
    await categories.refresh();
    expect(categories.all().find((one) => one.id === id)).toMatchObject(given);
  });

  test('for a reaction type that was disabled, when refused, shows it as disabled', async () => {
    const { text } = await forum.as.root.submit('/admin/reactions/save', {
      slug: 'Not good',
      emoji: '🐙',
      label: 'Octopus',
      enabled: 'false',
    });
    expect(text).toMatch(/role="switch" name="enabled" value="true"(?! checked)/);
  });
});
