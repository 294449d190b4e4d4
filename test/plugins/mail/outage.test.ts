import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { smtpTransport } from '../../../plugins/mail/transport.ts';

test('a mail server that accepts the connection but sends no greeting times out after ten seconds', async () => {
  const open: Socket[] = [];
  const server = createServer((socket) => void open.push(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const transport = smtpTransport(`smtp://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const begun = performance.now();
  const sending = transport.deliver('one', { from: 'quay@forum.test', to: 'ada@forum.test', subject: 'x', text: 'x' });
  await expect(sending).rejects.toThrow('the mail server could not be reached (ETIMEDOUT)');
  expect(performance.now() - begun).toBeGreaterThan(9_900);
  expect(performance.now() - begun).toBeLessThan(15_000);
  transport.close();
  for (const socket of open) socket.destroy();
  server.close();
});
