/** A colour as lightness (0 to 1), chroma and hue (degrees), in OKLCH. */
export interface Colour {
  readonly l: number;
  readonly c: number;
  readonly h: number;
}

const OKLCH = /^oklch\(\s*([\d.]+)%\s+([\d.]+)\s+([\d.]+)\s*\)$/;
const HEX = /^#([\da-f]{6})$/i;

/**
 * Reads `oklch(L% C H)` or `#rrggbb`; anything else is `undefined`, so that nothing typed reaches a stylesheet as text.
 */
export function parseColour(text: string): Colour | undefined {
  const oklch = OKLCH.exec(text.trim());
  if (oklch) {
    const [l, c, h] = [Number(oklch[1]) / 100, Number(oklch[2]), Number(oklch[3])];
    return l <= 1 && c <= 0.5 && h <= 360 ? { l, c, h } : undefined;
  }
  const hex = HEX.exec(text.trim());
  return hex ? fromHex(hex[1] ?? '') : undefined;
}

/** The same colour with as much chroma as sRGB can show. */
export function fit({ l, c, h }: Colour): Colour {
  if (inGamut({ l, c, h })) return { l, c, h };
  let [low, high] = [0, c];
  for (let step = 0; step < 20; step++) {
    const middle = (low + high) / 2;
    if (inGamut({ l, c: middle, h })) low = middle;
    else high = middle;
  }
  return { l, c: low, h };
}

const trim = (value: number, digits: number): string => String(Number(value.toFixed(digits)));
export const cssColour = ({ l, c, h }: Colour): string => `oklch(${trim(l * 100, 2)}% ${trim(c, 4)} ${trim(h, 1)})`;

/** `#rrggbb`, for what cannot read OKLCH (the browser's theme colour). */
export function hexColour(colour: Colour): string {
  const channels = linear(fit(colour)).map((value) => Math.round(255 * encode(Math.min(1, Math.max(0, value)))));
  return `#${channels.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

/** The contrast ratio of two colours by the formula of WCAG 2, from 1 to 21. */
export function contrast(a: Colour, b: Colour): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: Colour): number {
  const [r, g, b] = linear(fit(colour)).map((value) => Math.min(1, Math.max(0, value))) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

const inGamut = (colour: Colour): boolean => linear(colour).every((value) => value >= -0.0001 && value <= 1.0001);

const encode = (value: number): number => (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055);
const decode = (value: number): number => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);

// The matrices are those of the OKLab definition (Ottosson, 2020).
function linear({ l, c, h }: Colour): [number, number, number] {
  const angle = (h * Math.PI) / 180;
  const [a, b] = [c * Math.cos(angle), c * Math.sin(angle)];
  const long = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const middle = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const short = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
    -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
    -0.0041960863 * long - 0.7034186147 * middle + 1.707614701 * short,
  ];
}

function fromHex(digits: string): Colour {
  const [r, g, b] = [0, 2, 4].map((at) => decode(Number.parseInt(digits.slice(at, at + 2), 16) / 255)) as [
    number,
    number,
    number,
  ];
  const long = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const middle = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const short = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  const l = 0.2104542553 * long + 0.793617785 * middle - 0.0040720468 * short;
  const a = 1.9779984951 * long - 2.428592205 * middle + 0.4505937099 * short;
  const bb = 0.0259040371 * long + 0.7827717662 * middle - 0.808675766 * short;
  return { l, c: Math.hypot(a, bb), h: ((Math.atan2(bb, a) * 180) / Math.PI + 360) % 360 };
}
