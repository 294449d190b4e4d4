import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { transform } from 'esbuild';
import { expect, it } from 'vitest';
import { withAccent } from '../../../plugins/web/themes/branding.ts';
import { contrast, hexColour, parseColour } from '../../../plugins/web/themes/colour.ts';
import { chainTokens, loadChain } from '../../../plugins/web/themes/themes.ts';
import { contrastProblems, mergeTokens, tokenSheet, type Tokens } from '../../../plugins/web/themes/tokens.ts';

const themes = resolve(import.meta.dirname, '../../../themes');
const tokens = chainTokens(loadChain('default', [themes]));
const changed = (color: object): Tokens => mergeTokens([tokens, { color }]);

it('colours are computed as in browsers', () => {
  expect(hexColour(parseColour('oklch(49% .084 205)')!)).toBe('#006e77');
  expect(hexColour(parseColour('#623e87')!)).toBe('#623e87');
  expect(hexColour(parseColour('#0003e5')!)).toBe('#0003e5');
  expect(contrast(parseColour('#000000')!, parseColour('#ffffff')!)).toBeCloseTo(21, 1);
});

it('every pair of the default theme has enough contrast, in light and dark, with all 24 hues', () => {
  expect(contrastProblems(tokens)).toEqual([]);
});

it('a pair without enough contrast is found and named', () => {
  const problems = contrastProblems(changed({ 'text-2': { light: '#aaaaaa', dark: '#b4b7be' } }));
  expect(problems[0]).toMatchObject({ scheme: 'light', pair: 'text-2 on surface-0', needed: 4.5 });
});

const HUES = Array.from({ length: 24 }, (_, step) => hexColour({ mode: 'oklch', l: 0.62, c: 0.2, h: step * 15 }));
it.each(['#000000', '#ffffff', '#808080', '#ffde00', '#00003c', '#ff0000', '#00ff00', '#0000ff', ...HUES])(
  'with the accent %s the theme keeps enough contrast, and nothing else of it changes',
  (accent) => {
    const own = withAccent(tokens, accent);
    expect(contrastProblems(own)).toEqual([]);
    const differing = Object.keys(tokens.color).filter((key) => own.color[key] !== tokens.color[key]);
    expect(differing).toEqual(['accent', 'accent-hover', 'on-accent', 'accent-soft', 'on-accent-soft']);
  },
);

it('an accent with enough contrast in light mode is used unchanged', () => {
  const { light } = withAccent(tokens, '#8a1538').color['accent']!;
  expect(hexColour(parseColour(light)!)).toBe('#8a1538');
  expect(withAccent(tokens, 'red')).toBe(tokens);
});

it('invalid values in tokens never reach the style sheet', () => {
  for (const hostile of ['red;} body{display:none', 'url(https://x.example)', 'oklch(50% .1 20); --x: 1', 'var(--y)']) {
    expect(() => tokenSheet(changed({ accent: { light: hostile, dark: '#ffffff' } }))).toThrow(/write oklch/);
  }
  expect(() => tokenSheet(changed({ 'x;}': { light: '#000000', dark: '#ffffff' } }))).toThrow(/token name/);
  const size = { min: 1, base: 1, slope: 0, max: 1 };
  expect(() => tokenSheet(mergeTokens([tokens, { size: { '(': size } }]))).toThrow(/token name/);
  expect(() => tokenSheet(mergeTokens([tokens, { family: { 'x:red;--y': ['Arial'] } }]))).toThrow(/token name/);
  expect(() => tokenSheet(mergeTokens([tokens, { family: { ui: ['a"; } *{}'] } }]))).toThrow(/font/);
  expect(() => tokenSheet(mergeTokens([tokens, { motion: '1s' }]))).toThrow(/must be a number/);
});

it('the style sheet contains both schemes, with light as the fallback for old browsers', () => {
  const sheet = tokenSheet(tokens);
  expect(sheet).toMatch(/--accent:light-dark\(oklch\(49% 0\.08\d* 205\),oklch\(78% /);
  expect(sheet).toContain('@supports not (color:light-dark(red,red))');
  expect(sheet).toContain('prefers-contrast:more');
});

it('all style sheets together are at most 13 KB compressed', async () => {
  const folder = join(themes, 'default/assets/css');
  const styles = readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
  const { code } = await transform(styles + tokenSheet(tokens), { loader: 'css', minify: true });
  expect(gzipSync(code, { level: 9 }).length).toBeLessThan(13 * 1024);
});
