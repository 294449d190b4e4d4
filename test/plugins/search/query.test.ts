import { describe, expect, test } from 'vitest';
import { InvalidInput } from 'parley-forum';
import { parseQuery } from '../../../plugins/search/query/query.ts';

describe('a query', () => {
  test('consists of words and filters', () => {
    expect(parseQuery('stern author:ada gland Category:help tag:tools')).toEqual({
      text: 'stern gland',
      authors: ['ada'],
      categories: ['help'],
      tags: ['tools'],
      before: undefined,
      after: undefined,
    });
  });

  test('keeps phrases intact, whatever they look like', () => {
    expect(parseQuery('"author: ada said" -"not this" -pump')).toMatchObject({
      text: '"author: ada said" -"not this" -pump',
      authors: [],
    });
  });

  test('uses the narrowest dates, in UTC', () => {
    const { before, after } = parseQuery('before:2026-03-01 before:2026-02 after:2025 after:2025-06-01T10:00');
    expect([before, after]).toEqual([new Date('2026-02-01T00:00:00Z'), new Date('2025-06-01T10:00:00Z')]);
  });

  test.each(['before:yesterday', 'after:2026-13-40', 'after:1', 'before:0000', 'after:0999-12-31'])(
    'refuses an invalid date: %s',
    (q) => expect(() => parseQuery(q)).toThrow(InvalidInput),
  );

  test('replaces lone surrogates', () => {
    expect(parseQuery('ab \ud800').text).toBe('ab \ufffd');
  });

  test('treats a filter without a value as text', () => {
    expect(parseQuery('author: tag:').text).toBe('author: tag:');
  });
});
