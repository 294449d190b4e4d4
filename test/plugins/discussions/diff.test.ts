import { expect, test } from 'vitest';
import { diffText } from '../../../plugins/discussions/revisions/diff.ts';

const lines = (count: number, word: string) => Array.from({ length: count }, (_, at) => `${word} ${at}`).join('\n');

test('changed lines are shown side by side, with the changed words marked', () => {
  expect(diffText('Hoist the main sail\nGo', 'Hoist the small sail\nGo')).toEqual({
    rows: [
      {
        before: [
          { text: 'Hoist the ', changed: false },
          { text: 'main', changed: true },
          { text: ' sail', changed: false },
        ],
        after: [
          { text: 'Hoist the ', changed: false },
          { text: 'small', changed: true },
          { text: ' sail', changed: false },
        ],
      },
      { same: 'Go' },
    ],
    cut: false,
  });
});

test('added and removed lines stand alone', () => {
  expect(diffText('a\nb', 'a\nb\nc').rows).toEqual([
    { same: 'a' },
    { same: 'b' },
    { after: [{ text: 'c', changed: true }] },
  ]);
  expect(diffText('a\nb\nc', 'a\nc').rows).toEqual([
    { same: 'a' },
    { before: [{ text: 'b', changed: true }] },
    { same: 'c' },
  ]);
});

test('lines with nothing in common are not split into words', () => {
  expect(diffText('one two', 'three four').rows).toEqual([
    { before: [{ text: 'one two', changed: true }], after: [{ text: 'three four', changed: true }] },
  ]);
});

test('unchanged lines are shown only next to a change', () => {
  const before = lines(20, 'line');
  expect(diffText(before, before.replace('line 10', 'other')).rows).toEqual([
    { gap: 8 },
    { same: 'line 8' },
    { same: 'line 9' },
    { before: [{ text: 'line 10', changed: true }], after: [{ text: 'other', changed: true }] },
    { same: 'line 11' },
    { same: 'line 12' },
    { gap: 7 },
  ]);
  expect(diffText(before, before).rows).toEqual([{ gap: 20 }]);
});

test('long texts that differ completely are cut, and marked as cut', () => {
  const { rows, cut } = diffText(lines(9_000, 'a'), lines(9_000, 'b'));
  expect([rows.length, cut]).toEqual([400, true]);
  const words = (word: string) => Array.from({ length: 10_000 }, (_, at) => `${word}${at}`).join(' ');
  expect(diffText(words('a'), words('b')).rows).toHaveLength(1);
});

test('long texts that differ throughout are compared with limited effort', () => {
  const letters = (from: number) =>
    Array.from({ length: 32_000 }, (_, at) => 'abcdefghijklmnop'[(at * at + from * (at % 7)) % 16]).join('\n');
  const { rows } = diffText(letters(1), letters(3));
  expect(rows.some((row) => 'same' in row)).toBe(false);
  const words = (from: number) =>
    Array.from({ length: 300 }, (_, line) =>
      Array.from({ length: 40 }, (_unused, at) => `w${(line * from + at * at) % 11}`).join(' '),
    ).join('\n');
  const looked = diffText(words(2), words(3)).rows.filter((row) => 'before' in row && (row.before?.length ?? 0) > 1);
  expect(looked.length).toBeLessThan(60);
});
