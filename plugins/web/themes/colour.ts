// Culori's single-file build: loading its 150 modules would take ten times as long at every start.
import culori from 'culori/require';

/** A colour as lightness (0 to 1), chroma and hue (degrees), in OKLCH. */
export interface Colour {
  readonly mode: 'oklch';
  readonly l: number;
  readonly c: number;
  readonly h: number;
}

const OKLCH = /^oklch\(\s*([\d.]+)%\s+([\d.]+)\s+([\d.]+)\s*\)$/;
const HEX = /^#[\da-f]{6}$/i;

const { clampChroma, clampRgb, converter, differenceEuclidean, formatHex, wcagContrast } = culori;
const distance = differenceEuclidean('lrgb');
const toOklch = converter('oklch');

/**
 * Parses `oklch(L% C H)` or `#rrggbb`. Returns `undefined` for anything else, so that no user input reaches a style
 * sheet as raw text.
 */
export function parseColour(text: string): Colour | undefined {
  const written = text.trim();
  // Greys have no hue of their own.
  if (HEX.test(written)) return { h: 0, ...toOklch(written)! };
  const oklch = OKLCH.exec(written);
  if (!oklch) return undefined;
  const [l, c, h] = [Number(oklch[1]) / 100, Number(oklch[2]), Number(oklch[3])];
  return l <= 1 && c <= 0.5 && h <= 360 ? { mode: 'oklch', l, c, h } : undefined;
}

/**
 * How far outside of sRGB rounding may move a colour from its edge. Fitting such a blue would cost it a seventh of its
 * chroma.
 */
const ROUNDING = 0.0001;

/** The same colour, its chroma reduced to what sRGB can show. */
export function fit(colour: Colour): Colour {
  if (distance(colour, clampRgb(colour)) <= ROUNDING) return colour;
  return { ...colour, c: clampChroma(colour, 'oklch').c };
}

const trim = (value: number, digits: number): string => String(Number(value.toFixed(digits)));
export const cssColour = ({ l, c, h }: Colour): string => `oklch(${trim(l * 100, 2)}% ${trim(c, 4)} ${trim(h, 1)})`;

/** `#rrggbb`, where OKLCH is not supported (the browser's theme colour). */
export const hexColour = (colour: Colour): string => formatHex(fit(colour));

/** The contrast ratio of two colours by the formula of WCAG 2, from 1 to 21. */
export const contrast = (a: Colour, b: Colour): number => wcagContrast(fit(a), fit(b));
