import { describe, expect, test } from 'vitest';
import { createId, isId } from '#plugins/api';

describe('ids', () => {
  test('sort in the order they were made, however many in one millisecond', () => {
    const ids = Array.from({ length: 10_000 }, () => createId(Date.parse('2026-01-15T12:00:00Z')));
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every(isId)).toBe(true);
  });

  test('sort by the moment they are for, whenever they were made', () => {
    const [later, earlier] = [createId(1_800_000_000_000), createId(1_700_000_000_000)];
    expect(earlier < later).toBe(true);
  });
});
