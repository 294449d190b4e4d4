import { createServer, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigurationError } from 'parley-forum';
import { TrustedProxies } from '../../../plugins/protection/proxies.ts';

interface Seen {
  readonly address: string;
  readonly secure: boolean;
}

const proxies = new TrustedProxies({ closing: new AbortController().signal, protect: () => undefined });
const server = createServer((req, res) => {
  const seen: Seen = { address: proxies.ip(req), secure: proxies.secure(req) };
  res.end(JSON.stringify(seen));
});
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '::', resolve)));
afterAll(() => void server.close());

/** Connects to localhost, so the connecting address is 127.0.0.1 or ::1. */
function ask(headers: IncomingHttpHeaders = {}, host = '127.0.0.1'): Promise<Seen> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    request({ host, port, headers }, (res) => {
      let text = '';
      res.on('data', (chunk: Buffer) => (text += chunk.toString())).on('end', () => resolve(JSON.parse(text) as Seen));
    })
      .on('error', reject)
      .end();
  });
}
const addressFor = async (headers: IncomingHttpHeaders, host?: string): Promise<string> =>
  (await ask(headers, host)).address;
/** A request as `remote` would make it, for addresses that cannot connect from here. */
const from = (remote: string | undefined, headers: IncomingHttpHeaders = {}): IncomingMessage =>
  ({ headers, socket: { remoteAddress: remote } }) as unknown as IncomingMessage;
/** The client address of such a request when it names another client. */
const claimed = (list: TrustedProxies, remote: string): string =>
  list.ip(from(remote, { 'x-real-ip': '198.51.100.1' }));

describe('the client address', () => {
  it('is the connecting one when no proxy is trusted, whatever the headers say', async () => {
    proxies.set([]);
    const claims = {
      'x-forwarded-for': '198.51.100.1',
      'x-real-ip': '198.51.100.1',
      'cf-connecting-ip': '198.51.100.1',
      'x-forwarded-proto': 'https',
    };
    expect(await ask(claims)).toEqual({ address: '127.0.0.1', secure: false });
    expect(await addressFor(claims, '::1')).toBe('::1');
  });

  it('is the right-most one that is not a trusted proxy', async () => {
    proxies.set(['127.0.0.1', '10.0.0.0/8', '2001:db8:1::/48']);
    expect(await addressFor({ 'x-forwarded-for': '203.0.113.9, 198.51.100.1, 10.1.2.3' })).toBe('198.51.100.1');
    expect(await addressFor({ 'x-forwarded-for': '198.51.100.1, 2001:DB8:1:0::7' })).toBe('198.51.100.1');
    expect(await addressFor({ 'x-forwarded-for': '2001:DB8:2::0:7' })).toBe('2001:db8:2::7');
    expect(await addressFor({ 'x-forwarded-for': '10.0.0.1, 10.0.0.2' })).toBe('10.0.0.1');
    expect(await addressFor({ 'x-forwarded-for': '198.51.100.1' }, '::1')).toBe('::1');
  });

  it('may come from X-Real-IP or CF-Connecting-IP, in that order', async () => {
    proxies.set(['127.0.0.0/8']);
    expect(await addressFor({ 'cf-connecting-ip': '198.51.100.2' })).toBe('198.51.100.2');
    expect(await addressFor({ 'cf-connecting-ip': '198.51.100.2', 'x-real-ip': '198.51.100.3' })).toBe('198.51.100.3');
    expect(await addressFor({ 'cf-connecting-ip': '198.51.100.2', 'x-forwarded-for': '198.51.100.4' })).toBe(
      '198.51.100.4',
    );
  });

  it('is normalised: IPv4-mapped IPv6 becomes IPv4, without port and zone', async () => {
    proxies.set(['127.0.0.1']);
    for (const text of ['::ffff:198.51.100.1', '::FFFF:c633:6401', '198.51.100.1:4711', '[::ffff:198.51.100.1]:80']) {
      expect(await addressFor({ 'x-forwarded-for': text }), text).toBe('198.51.100.1');
    }
    expect(proxies.ip(from('fe80::1%eth0'))).toBe('fe80::1');
  });

  it('is not taken from an invalid entry, or from anything left of it', async () => {
    proxies.set(['127.0.0.1', '10.0.0.1']);
    for (const text of ['unknown', '', ',', '999.1.1.1', '198.51.100.1 x', '0x7f000001']) {
      expect(await addressFor({ 'x-forwarded-for': text }), text).toBe('127.0.0.1');
    }
    expect(await addressFor({ 'x-forwarded-for': '198.51.100.1, unknown, 10.0.0.1' })).toBe('10.0.0.1');
    expect(await addressFor({ 'x-forwarded-for': 'unknown, 198.51.100.1' })).toBe('198.51.100.1');
  });

  it('stays the same for a request, and is 0.0.0.0 if first read after the connection was closed', () => {
    const req = from('198.51.100.1');
    expect(proxies.ip(req)).toBe('198.51.100.1');
    Object.assign(req.socket, { remoteAddress: undefined });
    expect(proxies.ip(req)).toBe('198.51.100.1');
    expect(proxies.ip(from(undefined))).toBe('0.0.0.0');
  });

  it('and the secure flag stay available after Node has destroyed the request', () => {
    proxies.set(['198.51.100.1']);
    const request = (): IncomingMessage =>
      from('198.51.100.1', { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.7' });
    const [asked, unasked] = [request(), request()];
    expect([proxies.ip(asked), proxies.secure(asked)]).toEqual(['192.0.2.7', true]);
    for (const req of [asked, unasked]) Object.assign(req, { socket: null });
    expect([proxies.ip(asked), proxies.secure(asked)]).toEqual(['192.0.2.7', true]);
    expect([proxies.ip(unasked), proxies.secure(unasked)]).toEqual(['0.0.0.0', false]);
  });

  it('is secure when the trusted proxy says so', async () => {
    proxies.set(['127.0.0.1']);
    expect((await ask({ 'x-forwarded-proto': 'https' })).secure).toBe(true);
    expect((await ask({ 'x-forwarded-proto': 'http' })).secure).toBe(false);
    expect((await ask()).secure).toBe(false);
  });
});

describe('the list of trusted proxies', () => {
  it('refuses an entry that is no address or range, naming it, and keeps the previous list', () => {
    const list = new TrustedProxies({ closing: new AbortController().signal, protect: () => undefined });
    list.set(['192.0.2.1']);
    for (const entry of [
      '',
      'proxy',
      '10.0.0.0/33',
      '::/129',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      '10.0.0.0/-1',
      '10.0.0/8',
      '::ffff:10.0.0.0/90',
    ]) {
      expect(() => list.set(['10.0.0.1', entry]), entry).toThrow(ConfigurationError);
      expect(() => list.set([entry]), entry).toThrow(`"${entry}"`);
    }
    expect(claimed(list, '192.0.2.1')).toBe('198.51.100.1');
  });

  it('accepts every notation of a range', () => {
    const list = new TrustedProxies({ closing: new AbortController().signal, protect: () => undefined });
    list.set([' 10.1.2.3/8 ', '::ffff:172.16.0.0/108', '2001:DB8::/32']);
    for (const proxy of ['10.200.0.1', '::ffff:10.0.0.1', '172.31.255.1', '2001:db8:ffff::1'])
      expect(claimed(list, proxy), proxy).toBe('198.51.100.1');
    for (const other of ['11.0.0.1', '172.32.0.1', '2001:db9::1']) expect(claimed(list, other), other).toBe(other);
  });
});

describe('the request id', () => {
  const ID = 'proxy-4711:a.b';

  it('comes from a trusted proxy, and is generated otherwise', () => {
    proxies.set(['192.0.2.0/24']);
    const idOf = (remote: string, id: string): string => proxies.requestId(from(remote, { 'x-request-id': id }));
    expect(idOf('192.0.2.7', ID)).toBe(ID);
    for (const id of ['short', 'x'.repeat(129), 'with space', '<script>', 'new\nline-id', ''])
      expect(idOf('192.0.2.7', id), id).toMatch(/^[\da-f]{8}-[\da-z]+$/);
    expect(idOf('198.51.100.7', ID)).toMatch(/^[\da-f]{8}-[\da-z]+$/);
  });
});
