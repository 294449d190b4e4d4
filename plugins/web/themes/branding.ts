import { contrast, cssColour, fit, parseColour, type Colour } from './colour.ts';
import type { Tokens } from './tokens.ts';

/** The operators' name and look for the site, whatever its theme; empty where the theme decides. */
export interface Branding {
  readonly name: string;
  readonly description: string;
  /** Shown where links to the site are shared: a path or an https address. */
  readonly picture: string;
  /** Path of a square picture. */
  readonly icon: string;
  /** `#rrggbb` */
  readonly accent: string;
}

/** The W3C Web Application Manifest of the site. `ground`: the background colour while the app starts. */
export function manifestText({ name, description, icon }: Branding, ground: string, themeIcon: string): string {
  return JSON.stringify({
    id: '/',
    start_url: '/',
    scope: '/',
    name,
    ...(description !== '' && { description }),
    // Shows a back button, which pages opened as an app would otherwise lack.
    display: 'minimal-ui',
    background_color: ground,
    theme_color: ground,
    icons: [{ src: icon === '' ? themeIcon : icon, sizes: 'any' }],
  });
}

type SchemeName = 'light' | 'dark';
/** The chroma from which a colour counts as fully saturated, and the maximum chroma for large areas. */
const [FULL_CHROMA, MOST_CHROMA] = [0.08, 0.19];
/** The change in lightness on hover, and the step in which lightness is adjusted until a colour is readable. */
const [HOVER, STEP] = [0.05, 0.01];
/** The minimum contrast for text by WCAG 1.4.3, plus a margin for rounding. */
const LEAST_CONTRAST = 4.55;
/** The backgrounds on which text in the accent colour appears. */
const GROUNDS = ['surface-0', 'surface-1', 'surface-2', 'surface-3'];

/**
 * Returns the theme's tokens with another accent colour: its hue and, as far as it is readable on the theme's surfaces,
 * its lightness. Returns them unchanged if `accent` is not a colour.
 */
export function withAccent(tokens: Tokens, accent: string): Tokens {
  const own = parseColour(accent);
  if (!own) return tokens;
  const schemes = { light: turned(tokens, own, 'light'), dark: turned(tokens, own, 'dark') };
  const names = Object.keys(schemes.light).filter((name) => tokens.color[name]);
  const pairs = names.map((name) => [name, { light: schemes.light[name]!, dark: schemes.dark[name]! }]);
  return { ...tokens, color: { ...tokens.color, ...(Object.fromEntries(pairs) as Tokens['color']) } };
}

/** The colours derived from the accent in one scheme, as CSS values. */
function turned(tokens: Tokens, own: Colour, scheme: SchemeName): Readonly<Record<string, string>> {
  const theirs = (name: string): Colour | undefined => parseColour(tokens.color[name]?.[scheme] ?? '');
  const darker = scheme === 'light';
  const strength = Math.min(1, own.c / FULL_CHROMA);
  const tinted = (name: string): Colour => {
    const { l, c } = theirs(name) ?? own;
    return fit({ mode: 'oklch', l, c: c * strength, h: own.h });
  };
  const [soft, on] = [tinted('accent-soft'), tinted('on-accent')];
  const grounds = GROUNDS.flatMap((name) => theirs(name) ?? []);
  const start = theirs('accent')?.l ?? own.l;
  const accent = readable(
    { ...own, c: Math.min(own.c, MOST_CHROMA), l: darker ? Math.min(own.l, start) : Math.max(own.l, start) },
    [...grounds, on],
    darker,
  );
  const hovered = accent.l > 2 * HOVER && darker ? accent.l - HOVER : Math.min(1, accent.l + HOVER);
  const colours = {
    accent,
    'accent-hover': readable({ ...accent, l: hovered }, [on], darker),
    'on-accent': on,
    'accent-soft': soft,
    'on-accent-soft': readable(tinted('on-accent-soft'), [soft], darker),
  };
  return Object.fromEntries(Object.entries(colours).map(([name, colour]) => [name, cssColour(colour)]));
}

/** Darkens or lightens a colour until it is readable on each of the backgrounds. */
function readable(colour: Colour, grounds: readonly Colour[], darker: boolean): Colour {
  let found = fit(colour);
  while (grounds.some((ground) => contrast(found, ground) < LEAST_CONTRAST)) {
    const l = found.l + (darker ? -STEP : STEP);
    if (l < 0 || l > 1) return found;
    found = fit({ ...colour, l });
  }
  return found;
}
