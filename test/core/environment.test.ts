import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readEnvironment } from '../../config/environment.ts';

describe('the address of the site', () => {
  test.each([
    ['https://forum.example.org', 'https://forum.example.org'],
    ['https://forum.example.org/', 'https://forum.example.org'],
    ['HTTPS://Forum.Example.org:443', 'https://forum.example.org'],
    ['http://127.0.0.1:3000', 'http://127.0.0.1:3000'],
  ])('%s is normalized to %s', (given, origin) => {
    expect(readEnvironment({ BASE_URL: given }).baseUrl).toBe(origin);
  });

  test.each([
    'https://example.org/forum',
    'https://example.org/forum/',
    'https://ada:secret@example.org',
    'https://example.org/?a=1',
    'https://example.org#top',
    'example.org',
    'ftp://example.org',
  ])('cannot be %s', (given) => {
    expect(() => readEnvironment({ BASE_URL: given })).toThrow('BASE_URL=… is not a URL');
  });
});

test.each([
  ['WEBHOOKS_ALLOWED_PORTS', '443, many', 'WEBHOOKS_ALLOWED_PORTS=many is not a port such as 8443'],
  ['WEBHOOKS_ALLOWED_HOSTS', 'http://intranet', 'WEBHOOKS_ALLOWED_HOSTS=http://intranet is not a host name'],
  ['SSO_ALLOWED_HOSTS', 'sso.internal:8080', 'SSO_ALLOWED_HOSTS=sso.internal:8080 is not a host name'],
  ['PUSH_ALLOWED_HOSTS', '*.internal', 'PUSH_ALLOWED_HOSTS=*.internal is not a host name'],
  ['LOG_LEVEL', 'loud', 'LOG_LEVEL=loud is not one of fatal, error, warn, info'],
  ['LOG_FORMAT', 'xml', 'LOG_FORMAT=xml is not one of json, text'],
])('%s=%s is refused, with what to write instead', (name, value, problem) => {
  expect(() => readEnvironment({ [name]: value })).toThrow(problem);
});

test('hosts may be names and addresses of both kinds', () => {
  const hosts = ['intranet', 'LocalHost.', '10.0.0.5', '[::1]', 'fd00::1', 'bücher.example'];
  expect(readEnvironment({ WEBHOOKS_ALLOWED_HOSTS: hosts.join(', ') }).allowedHosts).toEqual(hosts);
});

test.each([
  [
    '{ "trusted_proxy": ["127.0.0.1"] }',
    'has "trusted_proxy", which means nothing there; did you mean "trusted_proxies"?',
  ],
  ['[]', 'cannot be read: it must be an object'],
  ['{', 'cannot be read: '],
])('a config.json with %j is refused', async (text, problem) => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-environment-'));
  await writeFile(join(folder, 'config.json'), text);
  expect(() => readEnvironment({ DATA_DIR: folder })).toThrow(problem);
  await rm(folder, { recursive: true });
});
