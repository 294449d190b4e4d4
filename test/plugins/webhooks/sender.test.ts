import { describe, expect, test } from 'vitest';
import { PublicUrlGuard } from '../../../plugins/protection/outgoing/url-guard.ts';
import { Sender } from '../../../plugins/webhooks/delivery/sender.ts';
import { check, guardOf } from '../protection/guard.ts';
import { startReceiver } from './receiver.ts';

describe('sending', () => {
  const sending = (url: string) => ({ url, headers: { 'x-test': 'yes' }, body: '{}' });
  const never = new AbortController().signal;

  test('connects to the checked address with the original host name, and resolves the name again each time', async () => {
    await using receiver = await startReceiver({ status: 200 });
    const { port } = new URL(receiver.url);
    const answers = [['8.8.8.8'], ['127.0.0.1']];
    const guard = guardOf([], { resolve: () => Promise.resolve(answers.shift()!), allowedPorts: [Number(port)] });
    // A name that was public when it was saved resolves to localhost a moment later.
    expect(await check(guard, `http://rebound.example.org:${port}/`)).toEqual(['8.8.8.8']);
    expect(await new Sender(guard).send(sending(`http://rebound.example.org:${port}/`), never)).toMatchObject({
      status: undefined,
      blocked: true,
      error: expect.stringMatching(/^Not sent: .*public internet/),
    });
    expect(receiver.received).toEqual([]);

    class Pinned extends PublicUrlGuard {
      override async resolve(): Promise<[{ address: string; family: number }]> {
        return [{ address: '127.0.0.1', family: 4 }];
      }
    }
    const pinned = new Pinned({ allowedHosts: [], allowedPorts: [], variables: { hosts: '' }, secure: false });
    expect(await new Sender(pinned).send(sending(`http://no-such-name.invalid:${port}/hook`), never)).toMatchObject({
      status: 200,
      blocked: false,
    });
    expect(receiver.received[0]!.headers['host']).toBe(`no-such-name.invalid:${port}`);
  });

  test('does not wait for unresponsive name servers after an abort', async () => {
    const silent = guardOf([], { resolve: () => new Promise(() => undefined) });
    const stop = new AbortController();
    const under = new Sender(silent).send(sending('http://example.org/'), stop.signal);
    stop.abort(new Error('the plugin stops'));
    await expect(under).rejects.toThrow('the plugin stops');
  });

  test('distinguishes an abort from a failure', async () => {
    await using receiver = await startReceiver({});
    const stop = new AbortController();
    const guard = guardOf([], { allowedHosts: ['127.0.0.1'] });
    const under = new Sender(guard).send(sending(receiver.url), stop.signal);
    await expect.poll(() => receiver.received.length).toBe(1);
    stop.abort(new Error('the plugin stops'));
    await expect(under).rejects.toThrow('the plugin stops');
  });

  test('uses the status of a response that never ends', async () => {
    await using receiver = await startReceiver({ status: 200, headers: { 'content-length': '100' }, body: 'half' });
    const guard = guardOf([], { allowedHosts: ['127.0.0.1'] });
    const under = new Sender(guard).send(sending(receiver.url), never);
    await expect.poll(() => receiver.received.length).toBe(1);
    setTimeout(() => void receiver[Symbol.asyncDispose](), 300);
    expect(await under).toMatchObject({
      status: 200,
      response: 'half',
      error: undefined,
    });
  });
});
