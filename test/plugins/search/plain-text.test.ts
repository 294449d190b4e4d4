import { expect, test } from 'vitest';
import { plainText } from '../../../plugins/search/plain-text.ts';

test('blocks of HTML separate words, inline markup within a word does not', () => {
  expect(plainText('<p dir="auto">un<em>believ</em>able</p><ul><li>one</li><li>two</li></ul>')).toBe(
    'unbelievable one two',
  );
});

test('entities are decoded once', () => {
  expect(plainText('<p>a &lt;b&gt; &amp;amp; &quot;c&quot;</p>')).toBe('a < b> &amp; "c"');
});

test('control characters, which mark matches, are removed', () => {
  expect(plainText('<p>a\u0002b\u0003c\u007f</p>')).toBe('a b c');
});

test('very long words are broken up, and nothing is left that looks like the start of a tag', () => {
  expect(plainText(`<p>${'*a_b'.repeat(16_384)}</p>`)).not.toMatch(/\S{129}/);
  expect(plainText('<p>&lt;a &lt;/b &lt;!-- &lt;? &lt;é 1 &lt; 2</p>')).toBe('< a < /b < !-- < ? < é 1 < 2');
});

test('spoilers are left out, even nested ones', () => {
  const inner = '<details class="spoiler words"><summary>Spoiler</summary>ghost</details>';
  const block = `<details class="spoiler" dir="auto"><summary>End</summary><p>He is ${inner} a ghost</p>${inner}</details>`;
  expect(plainText(`<div>So ${inner} then</div>${block}<p>Bye</p>`)).toBe('So … then … Bye');
});
