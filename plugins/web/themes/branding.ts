import { contrast, cssColour, fit, parseColour, type Colour } from './colour.ts';
import type { Tokens } from './tokens.ts';

/** How the operators call the site and what they make it look like, whatever its theme; empty where the theme decides. */
export interface Branding {
  readonly name: string;
  readonly description: string;
  /** Shown where a link is shared: a path or an https address. */
  readonly picture: string;
  /** Path of a square picture. */
  readonly icon: string;
  /** `#rrggbb` */
  readonly accent: string;
}

/** What browsers are told of the site as an app: W3C Web Application Manifest. `ground`: of the page while it starts. */
export function manifestText({ name, description, icon }: Branding, ground: string, themeIcon: string): string {
  return JSON.stringify({
    id: '/',
    start_url: '/',
    scope: '/',
    name,
    ...(description !== '' && { description }),
    // With a way back, which pages that open as an app would not have otherwise.
    display: 'minimal-ui',
    background_color: ground,
    theme_color: ground,
    icons: [{ src: icon === '' ? themeIcon : icon, sizes: 'any' }],
  });
}

type SchemeName = 'light' | 'dark';
/** Chroma from which on a colour counts as fully coloured, and the most that large areas of it may have. */
const [FULL_CHROMA, MOST_CHROMA] = [0.08, 0.19];
/** How much lighter or darker something under the pointer is, and the steps in which a colour is made readable. */
const [HOVER, STEP] = [0.05, 0.01];
/** Of text, by WCAG 1.4.3, with a little to spare for rounding. */
const LEAST_CONTRAST = 4.55;
/** What text in the accent stands on. */
const GROUNDS = ['surface-0', 'surface-1', 'surface-2', 'surface-3'];

/**
 * The theme's tokens with another accent: its hue and, as far as it can be read on the theme's surfaces, its lightness.
 * As they are for anything that is no colour.
 */
export function withAccent(tokens: Tokens, accent: string): Tokens {
  const own = parseColour(accent);
  if (!own) return tokens;
  const schemes = { light: turned(tokens, own, 'light'), dark: turned(tokens, own, 'dark') };
  const names = Object.keys(schemes.light).filter((name) => tokens.color[name]);
  const pairs = names.map((name) => [name, { light: schemes.light[name]!, dark: schemes.dark[name]! }]);
  return { ...tokens, color: { ...tokens.color, ...(Object.fromEntries(pairs) as Tokens['color']) } };
}

/** The colours that follow the accent in one scheme, as they stand in a style sheet. */
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

/** As dark, or as light, as it has to be to be read on each of the grounds. */
function readable(colour: Colour, grounds: readonly Colour[], darker: boolean): Colour {
  let found = fit(colour);
  while (grounds.some((ground) => contrast(found, ground) < LEAST_CONTRAST)) {
    const l = found.l + (darker ? -STEP : STEP);
    if (l < 0 || l > 1) return found;
    found = fit({ ...colour, l });
  }
  return found;
}
