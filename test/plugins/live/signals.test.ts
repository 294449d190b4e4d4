import { beforeAll, describe, expect, test } from 'vitest';
import { definePlugin } from 'parley-forum';
import { isStaff, type Viewer } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Live, signals } from 'parley-forum/ports/live';
import { install, useForum } from '../discussions/forum.ts';
import { listen, type Listener } from './listen.ts';

const forum = useForum();
const asked: (string | undefined)[] = [];
const live = (): Live => forum.app.app.service(Live);
/** Only the bells: presence sends signals of its own at any time. */
const bells = ({ signals: heard }: Listener): Listener['signals'] =>
  heard.filter(({ event }) => event.endsWith('bell'));

beforeAll(() =>
  install(
    forum.app,
    definePlugin({
      id: 'bell',
      setup(_services, plugin) {
        const ring = (name: string, visible: (viewer: Viewer) => boolean): void =>
          plugin.extend(signals, {
            name,
            description: 'A bell rang.',
            visible: (_data, viewer) => {
              asked.push(viewer.username);
              return visible(viewer);
            },
          });
        ring('bell', () => true);
        ring('staff-bell', isStaff);
        ring('broken-bell', () => {
          throw new Error('the bell has no tongue');
        });
      },
    }),
  ),
);

describe('a signal', () => {
  test('reaches everyone who may receive it, without a position in the log', async () => {
    await using member = await listen(forum.app, forum.as.ada);
    await using staff = await listen(forum.app, forum.as.mia);
    await using guest = await listen(forum.app, undefined);
    live().send('staff-bell', { n: 1 });
    live().send('bell', { n: 2 });
    for (const stream of [member, staff, guest])
      await expect.poll(() => bells(stream).at(-1)).toEqual({ event: 'bell', id: undefined, data: { n: 2 } });
    expect([member, staff, guest].map((stream) => bells(stream).length)).toEqual([1, 2, 1]);
  });

  test('is checked once for all viewers with the same permissions', async () => {
    const streams = await Promise.all(
      [forum.as.ada, forum.as.ada, forum.as.bob, forum.as.mia, undefined, undefined].map((client) =>
        listen(forum.app, client),
      ),
    );
    asked.length = 0;
    live().send('bell', {});
    for (const stream of streams) await expect.poll(() => bells(stream).length).toBe(1);
    expect(asked).toHaveLength(3);
    for (const stream of streams) stream.close();
  });

  test('for one member reaches only their streams, including those filtered by discussion', async () => {
    const { id } = await forum.start('ada', 'Somewhere');
    await using own = await listen(forum.app, forum.as.ada);
    await using narrowed = await listen(forum.app, forum.as.ada, `?discussion_id=${id}`);
    await using deaf = await listen(forum.app, forum.as.ada, '?events=post.created');
    await using other = await listen(forum.app, forum.as.bob);
    live().send('bell', { mine: true }, forum.ids.ada);
    for (const stream of [own, narrowed]) await expect.poll(() => bells(stream).length).toBe(1);
    live().send('bell', { mine: false });
    await expect.poll(() => bells(other).length).toBe(1);
    expect([bells(other)[0]!.data, bells(narrowed).length, bells(deaf).length]).toEqual([{ mine: false }, 1, 0]);
  });

  test('about a discussion reaches streams filtered by that discussion', async () => {
    const { id } = await forum.start('ada', 'Here');
    await using here = await listen(forum.app, undefined, `?discussion_id=${id}`);
    live().send('bell', { discussion_id: 'another' });
    live().send('bell', { discussion_id: id });
    await expect.poll(() => bells(here).map(({ data }) => data)).toEqual([{ discussion_id: id }]);
  });

  test('that is not registered, or whose visibility check fails, reaches no one and disrupts nothing', async () => {
    await using stream = await listen(forum.app, forum.as.root);
    live().send('unheard-of', {});
    live().send('broken-bell', {});
    live().send('bell', {});
    await expect.poll(() => bells(stream).length).toBe(1);
    expect(bells(stream)[0]!.event).toBe('bell');
    expect(
      forum.app.lines.some(({ signal, message }) => signal === 'unheard-of' && message.includes('no plugin has added')),
    ).toBe(true);
  });

  test('no longer reaches viewers who lost the permission to receive it, or disabled members', async () => {
    const accounts = forum.app.app.service(Accounts);
    await using demoted = await listen(forum.app, forum.as.mia);
    await using disabled = await listen(forum.app, forum.as.bad);
    await using stays = await listen(forum.app, forum.as.root);
    await accounts.setGroup(forum.ids.mia, 'member');
    await accounts.setStatus(forum.ids.bad, 'disabled');
    live().send('staff-bell', {});
    live().send('bell', {});
    await expect.poll(() => bells(stays).length).toBe(2);
    await expect.poll(() => [demoted.ended, disabled.ended]).toEqual([true, true]);
    expect([bells(demoted), bells(disabled)]).toEqual([[], []]);
  });
});
