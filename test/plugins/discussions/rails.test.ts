import { beforeAll, expect, test } from 'vitest';
import { definePlugin } from 'parley-forum';
import { profileRail } from 'parley-forum/plugins/accounts';
import { categoryRail, discussionRail } from 'parley-forum/plugins/discussions';
import { fill, homeRail, html, slotFillings } from 'parley-forum/plugins/web';
import { install, useForum } from './forum.ts';

const forum = useForum();
const panels = definePlugin({
  id: 'test-panels',
  setup(_services, plugin) {
    const panel = (title: string) => html`<section>Beside ${title}</section>`;
    plugin.extend(
      slotFillings,
      fill(homeRail, (places) => places.map(() => panel('all'))),
    );
    plugin.extend(
      slotFillings,
      fill(categoryRail, (categories) => categories.map(({ name }) => panel(name))),
    );
    plugin.extend(
      slotFillings,
      fill(discussionRail, (discussions) => discussions.map(({ title }) => panel(title))),
    );
    plugin.extend(
      slotFillings,
      fill(profileRail, (members) => members.map(({ username }) => panel(username))),
    );
  },
});
let number: number;
beforeAll(async () => {
  number = (await forum.start('ada', 'Oars')).number;
  await install(forum.app, panels);
});

test.each([
  ['the front page', () => '/', 'all'],
  ['a category', () => '/c/general', 'General'],
  ['a discussion', () => `/d/${number}-oars`, 'Oars'],
  ['a profile', () => '/u/ada', 'ada'],
])('the rail of %s shows what plugins add to it, about what the page shows', async (_page, path, title) => {
  const { text } = await forum.guest.get(path());
  const [, rail = ''] = /<aside class="rail"[^>]*>([\s\S]*?)<\/aside>/.exec(text) ?? [];
  expect(rail).toContain(`<section>Beside ${title}</section>`);
});
