import { expect, test } from 'vitest';
import { useForum } from '../discussions/forum.ts';
import { listen } from '../live/listen.ts';

const forum = useForum({ 'presence.rate_limit': 100_000 });

test('a member who hides their presence is never shown as typing', async () => {
  const { id } = await forum.start('ada', 'Quiet place');
  const hide = await forum.as.ada.submit('/settings/privacy', { hide_presence: 'true' });
  expect(hide.status).toBeLessThan(400);
  await using listener = await listen(forum.app, forum.as.bob, '?events=typing');
  const say = (who: 'ada' | 'mia', what: string) =>
    forum.as[who].post(`/api/typing-indicator/${what}`, { discussion_id: id });
  expect((await say('ada', 'typing')).status).toBe(200);
  expect((await forum.guest.get(`/api/typing-indicator/status?discussion_id=${id}`)).body.typing).toEqual([]);
  expect((await say('ada', 'stop')).status).toBe(200);
  await say('ada', 'typing');
  await forum.reply('ada', id, 'Here after all');
  await say('mia', 'typing');
  await expect.poll(() => listener.signals.map(({ data }) => data.user.username)).toEqual(['mia']);
  expect((await forum.as.ada.submit('/settings/privacy', {})).status).toBeLessThan(400);
  await say('ada', 'typing');
  await expect.poll(() => listener.signals.map(({ data }) => data.user.username)).toEqual(['mia', 'ada']);
});

test('open pages are notified immediately of who is typing, but not in hidden discussions', async () => {
  const open = await forum.start('ada', 'Open place');
  const hidden = await forum.start('mia', 'Hidden place', 'staff');
  const say = (what: string, id: string) => forum.as.mia.post(`/api/typing-indicator/${what}`, { discussion_id: id });
  await forum.as.mia.put(`/api/users/${forum.ids.mia}`, { display_name: 'Mia Mar' });
  await using member = await listen(forum.app, forum.as.bob, '?events=typing');
  await using staff = await listen(forum.app, forum.as.root, '?events=typing');
  for (const id of [hidden.id, open.id]) for (const what of ['typing', 'stop']) await say(what, id);
  const user = { id: forum.ids.mia, username: 'mia', display_name: 'Mia Mar' };
  const expectedFrames = (id: string) =>
    [true, false].map((typing) => ({ event: 'typing', id: undefined, data: { discussion_id: id, user, typing } }));
  await expect.poll(() => staff.signals).toEqual([...expectedFrames(hidden.id), ...expectedFrames(open.id)]);
  await expect.poll(() => member.signals).toEqual(expectedFrames(open.id));
});
