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
