import { describe, expect, it } from 'vitest';
import { createParser } from '../../../plugins/markdown/parser.ts';
import { createSanitiser } from '../../../plugins/markdown/sanitise.ts';
import { highlight } from '../../../plugins/markdown/syntax/highlighter.ts';
import { HOSTILE, INTRICATE } from './hostile.ts';

const rules = { origin: 'http://localhost:3000', imageHosts: ['pictures.example'] };
const { parse } = createParser(rules, highlight);
const clean = createSanitiser(rules);
const render = (source: string): string => clean(parse(source));

const TAG = /<(\/?)([a-z][a-z0-9-]*)((?: [a-z-]+="[^"<>]*")*)( \/)?>/g;
const ATTRIBUTE = / ([a-z-]+)="([^"]*)"/g;
const TAGS = new Set(
  'p div br hr h3 h4 h5 h6 blockquote ul ol li label input figure figcaption x-copy pre code details summary section sup em strong s span a img table thead tbody tr th td'.split(
    ' ',
  ),
);
const ATTRIBUTES = new Set(
  'href src rel alt title class dir start tabindex loading decoding id role aria-label type disabled checked'.split(
    ' ',
  ),
);
const CLASS =
  /^(mention|footnote|footnote-back|footnotes|language-[a-z0-9+#-]+|align-(left|center|right)|table-scroll|task|spoiler|words|code|code-[a-z]+)$/;
const NOTE = /^(fn|fnref)-[0-9a-f]{8}-\d+(-\d+)?$/;
const BOX = ' type="checkbox" disabled="disabled"';
/** Attributes for which not every value is harmless. */
const ALLOWED: Readonly<Record<string, (value: string) => boolean>> = {
  id: (value) => NOTE.test(value),
  href: (value) =>
    NOTE.test(value.replace(/^#/, '')) || /^(https?:\/\/[^@/\\]+(\/|$|\?|#)|mailto:|\/(?![/\\]))/.test(value),
  src: (value) => /^(\/(?![/\\])|https?:\/\/(localhost:3000|pictures\.example)\/)/.test(value),
  class: (value) => value.split(' ').every((word) => CLASS.test(word)),
  role: (value) => /^(region|doc-noteref|doc-backlink|doc-endnotes)$/.test(value),
};
const decode = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');

/** An independent check that shares nothing with the sanitiser: what is wrong with `html`, if anything. */
function fault(html: string): string | undefined {
  const rest = html.replace(TAG, '');
  if (/[<>]/.test(rest))
    return `a stray bracket near ${rest.slice(Math.max(0, rest.search(/[<>]/) - 20)).slice(0, 60)}`;
  for (const [, , tag, attributes] of html.matchAll(TAG)) {
    if (!TAGS.has(tag!)) return `the element ${tag}`;
    if (tag === 'input' && !attributes!.startsWith(BOX)) return 'a box that can be ticked';
    for (const [, name, raw] of attributes!.matchAll(ATTRIBUTE)) {
      if (!ATTRIBUTES.has(name!)) return `the attribute ${name}`;
      const value = decode(raw!);
      if (ALLOWED[name!]?.(value) === false) return `${name} with ${value}`;
    }
  }
  return undefined;
}

/** A small generator with a fixed seed: every run tries the same texts. */
function* numbers(seed: number): Generator<number> {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

describe('posted text', () => {
  it('is tested with more than a hundred hostile examples', () => {
    expect(new Set(HOSTILE).size).toBeGreaterThanOrEqual(120);
  });

  it.each(HOSTILE)('is harmless when it is %j', (source) => {
    expect(fault(render(source))).toBeUndefined();
  });

  it.each(HOSTILE)('is harmless as HTML from another plugin when it is %j', (source) => {
    expect(fault(clean(source))).toBeUndefined();
  });

  it('is harmless in ten thousand random mixtures of hostile pieces, and sanitising is idempotent', () => {
    const random = numbers(20_260_801);
    const pick = (list: readonly string[]): string => list[Math.floor(random.next().value! * list.length)]!;
    const glue = ['', ' ', '\n', '\n\n', '"', "'", '>', '](', '`', '\t> ', '\n- ', '<', '&', '\\'];
    for (let round = 0; round < 10_000; round++) {
      const source = Array.from({ length: 3 }, () => {
        const piece = pick(HOSTILE);
        const from = Math.floor(random.next().value! * piece.length);
        return (random.next().value! < 0.5 ? piece : piece.slice(from)) + pick(glue);
      }).join('');
      for (const html of [render(source), clean(source)]) {
        expect(fault(html), source).toBeUndefined();
        expect(clean(html), source).toBe(html);
      }
    }
  });

  it.each(INTRICATE.map((source) => [source.slice(0, 20), source] as const))(
    'does not expand excessively when it starts with %j',
    (_, source) => {
      expect(render(source).length).toBeLessThan(64 * 1024 * 8);
    },
  );

  it('is refused when repeated link definitions would produce a huge page', () => {
    expect(() => parse(`[a]: /${'x'.repeat(2_000)}\n\n${'[a]'.repeat(20_000)}`)).toThrow('repeat too often');
  });
});
