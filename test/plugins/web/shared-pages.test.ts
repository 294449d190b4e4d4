import { afterAll, describe, expect, test } from 'vitest';
import { definePlugin } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { homeBanner } from 'parley-forum/plugins/discussions';
import { fill, html, pages, shared, slotFillings, view, Web } from 'parley-forum/plugins/web';
import { expectStatus, install, useForum, type Name } from '../discussions/forum.ts';
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const forum = useForum();
const folder = mkdtempSync(join(tmpdir(), 'boats-'));
afterAll(() => rmSync(folder, { recursive: true }));
let built: string[] = [];

/** /boats is the same for everyone with the same rights; /boats/mine prints the viewer. */
const boats = definePlugin({
  id: 'boats',
  needs: { web: Web },
  setup(_services, plugin) {
    for (const [path, template] of [
      ['/boats', '@boats/all'],
      ['/boats/mine', '@boats/mine'],
    ] as const)
      plugin.route(pages, { method: 'get', path, can: 'public', cacheTags: () => ['boats'] })(() =>
        shared((viewer) => {
          built.push(`${path} ${viewer.group.level}`);
          return view(template, { name: 'boats', title: 'Boats' }, { id: viewer.id });
        }),
      );
    plugin.extend(
      slotFillings,
      fill(homeBanner, (places, viewer) => places.map(() => html`<p class="for">${viewer.username ?? 'nobody'}</p>`)),
    );
  },
});

const read = async (name: Name | 'guest', path: string): Promise<string> =>
  expectStatus(await (name === 'guest' ? forum.guest : forum.as[name]).get(path), 200).text;
const nameIn = (text: string): string | undefined => /<p class="for">([^<]*)</.exec(text)?.[1];
const menuOf = (text: string): string | undefined => /menu-head"><bdi>([^<]*)</.exec(text)?.[1];

describe('a page shared by viewers with the same rights', () => {
  test('is built once for them without a name, with each viewer’s own frame and slots', async () => {
    mkdirSync(join(folder, 'views'));
    writeFileSync(join(folder, 'views/all.hbs'), '<p class="id">{{id}}</p>{{slot "home.banner"}}');
    writeFileSync(join(folder, 'views/mine.hbs'), '<p class="for">{{@viewer.username}}</p>');
    await install(forum.app, { ...boats, folder });
    built = [];
    // Each twice: at a new URL, and from the cache.
    for (const name of ['ada', 'bob', 'ada', 'bob'] as const) {
      const text = await read(name, `/boats?by=${name}`);
      expect([nameIn(text), menuOf(text)]).toEqual([name, name]);
      expect(text).not.toContain(forum.ids[name === 'ada' ? 'bob' : 'ada']);
    }
    expect(built).toEqual(['/boats member']);
    expect(nameIn(await read('guest', '/boats'))).toBe('nobody');
    expect(nameIn(await read('mia', '/boats'))).toBe('mia');
    expect(built).toEqual(['/boats member', '/boats guest', '/boats moderator']);
    await forum.app.app.cache.purge('boats');
    await read('bob', '/boats?again');
    expect(built).toHaveLength(4);
  });

  test('is rendered for each viewer if a template prints the viewer', async () => {
    for (const name of ['ada', 'bob'] as const) expect(nameIn(await read(name, '/boats/mine'))).toBe(name);
  });

  test('shows viewers with individual rights what only they may do', async () => {
    const { id, number } = await forum.start('ada', 'Shared');
    const path = `/d/${number}-shared`;
    expect(await read('bob', path)).toContain(`action="/d/${number}/reply"`);
    await forum.app.app
      .service(Access)
      .suspend({ userId: forum.ids.bob, until: new Date(Date.now() + 60_000), reason: 'rest' });
    expect(await read('bob', `${path}?now`)).not.toContain(`action="/d/${number}/reply"`);
    await forum.app.app.service(Access).release(forum.ids.bob);
    // The author has the tools of the discussion, others with the same rights do not.
    expect(await read('ada', path)).toContain(`/d/${number}/edit`);
    expect(await read('bob', path)).not.toContain(`/d/${number}/edit`);
    expect(
      (
        await forum.as.bob.post('/api/reactions/toggle', {
          post_id: (await forum.guest.get(`/api/discussions/${id}`)).body.posts[0].id,
          reaction: 'love',
        })
      ).status,
    ).toBe(200);
    expect(await read('bob', path)).toMatch(/value="love" aria-pressed="true"/);
    expect(await read('ada', path)).toMatch(/value="love" aria-pressed="false"/);
  });
});
