import { expect, test } from 'vitest';
import { useForum } from '../discussions/forum.ts';
import { listen } from '../live/listen.ts';

const forum = useForum({ 'presence.rate_limit': 100_000 });

test('open pages are told at once who writes, but not of what they may not see', async () => {
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
