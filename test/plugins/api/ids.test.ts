import { createId } from 'parley-forum';
import { describe, expect, test } from 'vitest';
import { isId, randomText } from 'parley-forum/plugins/api';

describe('ids', () => {
  test('sort in the order of creation, however many in one millisecond', () => {
    const ids = Array.from({ length: 10_000 }, () => createId(Date.parse('2026-01-15T12:00:00Z')));
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every(isId)).toBe(true);
  });

  test('sort in that order even if ids for other times were created in between', () => {
    const stopped = Date.parse('2026-01-15T12:00:00Z');
    const ids = Array.from({ length: 200 }, (_, at) => {
      for (const later of [1, 2]) createId(stopped + 3 * at + later);
      return createId(stopped);
    });
    expect(ids).toEqual(ids.toSorted());
  });

  test('sort by the time they are for, whenever they were created', () => {
    const [later, earlier] = [createId(1_800_000_000_000), createId(1_700_000_000_000)];
    expect(earlier < later).toBe(true);
  });
});

describe('random text', () => {
  test('has as many bytes as requested, and is never the same', () => {
    const texts = Array.from({ length: 2_000 }, (_, at) => randomText(at % 2 === 0 ? 16 : 32, 'base64url'));
    expect(new Set(texts).size).toBe(2_000);
    expect(new Set(texts.map((text) => Buffer.from(text, 'base64url').length))).toEqual(new Set([16, 32]));
  });

  test('shares no bytes with another', () => {
    const bytes = Array.from({ length: 2_000 }, (_, at) =>
      Buffer.from(randomText(at % 2 === 0 ? 16 : 32, 'base64'), 'base64').toString('hex'),
    );
    const parts = bytes.flatMap((text) => text.match(/.{16}/g)!);
    expect(new Set(parts).size).toBe(parts.length);
  });
});
