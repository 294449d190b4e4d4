import { connect as dial, createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, probe, subscribe } from '../../../plugins/cache/redis.ts';

/** A proxy to a real Redis, which lets the test inject bytes between its replies. */
const sockets = new Set<Socket>();
const server = createServer((socket) => {
  const { hostname, port } = new URL(process.env['TEST_REDIS_URL']!);
  const redis = dial(Number(port), hostname);
  sockets.add(socket);
  socket
    .on('error', () => undefined)
    .on('close', () => void (sockets.delete(socket), redis.destroy()))
    .pipe(redis);
  redis.on('error', () => undefined).pipe(socket);
});
let url: string;
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `redis://127.0.0.1:${(server.address() as { port: number }).port}`;
});
afterAll(() => void server.close());

/** Bytes that are not a reply, and replies that match no command. */
const MALFORMED = [
  '!!!!\r\n',
  '\0\xff\0\r\n',
  '*0\r\n',
  '*1\r\n$-1\r\n',
  '*2\r\n$-1\r\n$-1\r\n',
  '*3\r\n$7\r\nmessage\r\n$-1\r\n$-1\r\n',
  '+OK\r\n',
  ':1\r\n',
  '$-1\r\n',
];

describe('a malformed reply from Redis', () => {
  it.each(MALFORMED)('%j is survived, even by a subscriber, which receives messages again afterwards', async (text) => {
    const lines: string[] = [];
    const log = { warn: (_fields: object, message: string) => void lines.push(message) };
    const [line, ear] = [await connect(url, log), await connect(url, log)];
    try {
      const heard: string[] = [];
      ear.on('message', (_channel, message) => void heard.push(message));
      await subscribe(ear, 'malformed');
      for (const socket of sockets) socket.write(text, 'latin1');
      await expect
        .poll(
          async () => {
            await line.publish('malformed', 'again').catch(() => undefined);
            return heard.includes('again');
          },
          { timeout: 15_000, interval: 100 },
        )
        .toBe(true);
    } finally {
      line.disconnect();
      ear.disconnect();
    }
  });

  it('that never ends is abandoned, and the next command on a new connection is answered', async () => {
    const line = await connect(url, { warn: () => undefined });
    const liars = [...sockets];
    for (const socket of liars) socket.write('*1000000000\r\n');
    const drip = setInterval(() => liars.forEach((socket) => socket.writable && socket.write(':1\r\n')), 100);
    try {
      await expect(line.get('first')).rejects.toThrow('timed out');
      // Its connection is closed too, so that the next command does not wait in vain.
      const asked = performance.now();
      await line.get('second').catch(() => undefined);
      expect(performance.now() - asked).toBeLessThan(1_000);
      await expect.poll(() => line.ping().catch(() => undefined), { timeout: 5_000 }).toBe('PONG');
    } finally {
      clearInterval(drip);
      line.disconnect();
    }
  });

  it('fails the check of an address, and nothing else', async () => {
    const liar = createServer(
      (socket) => void socket.on('error', () => undefined).on('data', () => void socket.write('*0\r\n')),
    );
    await once(liar.listen(0, '127.0.0.1'), 'listening');
    await expect(probe(`redis://127.0.0.1:${(liar.address() as { port: number }).port}`)).rejects.toBeInstanceOf(Error);
    liar.close();
  });
});
