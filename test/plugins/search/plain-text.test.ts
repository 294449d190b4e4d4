import { expect, test } from 'vitest';
import { plainText } from '../../../plugins/search/plain-text.ts';

test('what one reads of HTML: blocks part words, marks within a word do not', () => {
  expect(plainText('<p dir="auto">un<em>believ</em>able</p><ul><li>one</li><li>two</li></ul>')).toBe(
    'unbelievable one two',
  );
});

test('entities are what they stand for, once', () => {
  expect(plainText('<p>a &lt;b&gt; &amp;amp; &quot;c&quot;</p>')).toBe('a < b> &amp; "c"');
});

test('control characters, which mark what was found, are left out', () => {
  expect(plainText('<p>a\u0002b\u0003c\u007f</p>')).toBe('a b c');
});

test('no text makes a word of hundreds of characters, nor a tag, whose end the database would look for', () => {
  expect(plainText(`<p>${'*a_b'.repeat(16_384)}</p>`)).not.toMatch(/\S{129}/);
  expect(plainText('<p>&lt;a &lt;/b &lt;!-- &lt;? &lt;é 1 &lt; 2</p>')).toBe('< a < /b < !-- < ? < é 1 < 2');
});

test('has nothing of what a spoiler hides, whichever is within another', () => {
  const inner = '<details class="spoiler words"><summary>Spoiler</summary>ghost</details>';
  const block = `<details class="spoiler" dir="auto"><summary>End</summary><p>He is ${inner} a ghost</p>${inner}</details>`;
  expect(plainText(`<div>So ${inner} then</div>${block}<p>Bye</p>`)).toBe('So … then … Bye');
});
