import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { definePlugin } from 'parley-forum';
import { Live, signals } from 'parley-forum/ports/live';
import { startForum } from 'parley-forum/testing';
import { install } from '../discussions/forum.ts';
import { listen } from './listen.ts';

const MEGABYTE = 'x'.repeat(1024 * 1024);
/** More than operating systems buffer for a connection. */
const MUCH = 40;

test('a reader that stops reading is disconnected, while others receive everything', async () => {
  await using forum = await startForum();
  await install(
    forum,
    definePlugin({
      id: 'horn',
      setup: (_services, plugin) =>
        plugin.extend(signals, { name: 'horn', description: 'A horn blew.', visible: () => true }),
    }),
  );
  const slow = connect(Number(new URL(forum.url).port), '127.0.0.1');
  slow.on('error', () => undefined);
  slow.write('GET /api/live?events=horn HTTP/1.1\r\nHost: forum.test\r\n\r\n');
  await once(slow, 'readable');
  slow.pause();
  await using quick = await listen(forum, undefined, '?events=horn');
  for (let n = 1; n <= MUCH; n++) {
    forum.app.service(Live).send('horn', { n, MEGABYTE });
    await expect.poll(() => quick.signals.length, { timeout: 10_000, interval: 5 }).toBe(n);
  }
  let taken = 0;
  slow.on('data', (chunk) => (taken += chunk.length));
  slow.resume();
  await once(slow, 'close');
  expect(taken).toBeLessThan((MUCH - 1) * MEGABYTE.length);
  expect(quick.ended).toBe(false);
});
