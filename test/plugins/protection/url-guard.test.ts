import { describe, expect, test } from 'vitest';
import { BlockedUrl } from 'parley-forum/plugins/protection';
import { isPublicIp } from '../../../plugins/protection/outgoing/public-ips.ts';
import { check, guardOf } from './guard.ts';

describe('an address', () => {
  test.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:10.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:a00:1::',
    '3fff::1',
    'fc00::1',
    'fd12::1',
    'fe80::1',
    'ff02::1',
    '5f00::1',
  ])('%s is not public', (address) => expect(isPublicIp(address)).toBe(false));
  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '172.32.0.1',
    '100.128.0.1',
    '192.0.1.1',
    '2606:4700:4700::1111',
    '2a00:1450:4001::1',
  ])('%s is public', (address) => expect(isPublicIp(address)).toBe(true));
});

describe('the URL guard', () => {
  test.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://127.0.0.1./',
    'http://[::1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::ffff:8.8.8.8]/',
    'http://169.254.169.254/latest/meta-data',
    'http://localhost/',
    'http://LOCALHOST./',
    'http://redis/',
    'http://１２７.0.0.1/',
    'http://8.8.8.8:6379/',
    'https://8.8.8.8:22/',
    'ftp://8.8.8.8/',
    'file:///etc/passwd',
    'gopher://8.8.8.8/',
    'http://user:word@8.8.8.8/',
  ])('blocks %s', async (url) => expect(await check(guardOf(['8.8.8.8']), url)).toBeInstanceOf(BlockedUrl));

  test.each([
    'http://8.8.8.8/',
    'https://8.8.8.8/',
    'https://hooks.example.org/a?b=c',
    'https://[2606:4700:4700::1111]/',
  ])('allows %s', async (url) => {
    expect(await check(guardOf(['8.8.8.8']), url)).toEqual([url.includes('[') ? '2606:4700:4700::1111' : '8.8.8.8']);
  });

  test('blocks a name if any of its addresses is internal', async () => {
    expect(await check(guardOf(['8.8.8.8', '10.0.0.1']), 'https://hooks.example.org/')).toBeInstanceOf(BlockedUrl);
    expect(await check(guardOf(['8.8.8.8', '::1']), 'https://hooks.example.org/')).toBeInstanceOf(BlockedUrl);
    expect(await check(guardOf([]), 'https://hooks.example.org/')).toEqual(new Error('The name has no address'));
  });

  test('requires https in production', async () => {
    expect(await check(guardOf(['8.8.8.8'], { secure: true }), 'http://hooks.example.org/')).toEqual(
      new BlockedUrl('must begin with https://'),
    );
    expect(await check(guardOf(['8.8.8.8'], { secure: true }), 'https://hooks.example.org/')).toEqual(['8.8.8.8']);
  });

  test('allows the operator’s hosts, by exact name', async () => {
    const guard = guardOf(['8.8.8.8'], { allowedHosts: ['127.0.0.1', '[::1]', 'LocalHost.'], secure: true });
    for (const url of ['http://127.0.0.1:8080/', 'http://127.1/', 'http://[::1]:99/', 'http://localhost:3000/'])
      expect(await check(guard, url)).not.toBeInstanceOf(Error);
    for (const url of ['http://127.0.0.2/', 'http://10.0.0.1/', 'https://sub.localhost:1/'])
      expect(await check(guard, url)).toBeInstanceOf(BlockedUrl);
  });
});
