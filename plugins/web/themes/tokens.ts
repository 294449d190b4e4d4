import { ConfigurationError, Type, type Static } from 'parley-forum';
import { contrast, cssColour, fit, hexColour, parseColour, type Colour } from './colour.ts';

interface Pair {
  readonly light: string;
  readonly dark: string;
}
interface Fluid {
  /** In rem; `slope` is in percent of the window's width. */
  readonly min: number;
  readonly base: number;
  readonly slope: number;
  readonly max: number;
}

const PartOfPair = Type.Partial(Type.Object({ light: Type.String(), dark: Type.String() }));
const Numbers = Type.Array(Type.Number());
/** The contents of a tokens.json: that of a child theme contains only what differs. */
export const TokensFile = Type.Partial(
  Type.Object({
    color: Type.Record(Type.String(), PartOfPair),
    hue: Type.Partial(Type.Object({ text: PartOfPair, soft: PartOfPair })),
    family: Type.Record(Type.String(), Type.Array(Type.String())),
    size: Type.Record(
      Type.String(),
      Type.Partial(Type.Object({ min: Type.Number(), base: Type.Number(), slope: Type.Number(), max: Type.Number() })),
    ),
    space: Numbers,
    radius: Numbers,
    measure: Type.Number(),
    motion: Type.Number(),
  }),
);

/** The merged tokens of a theme; each key of a child overrides its parent's. */
export interface Tokens {
  readonly color: Readonly<Record<string, Pair>>;
  /** For category hues: lightness and maximum chroma of text on the page and of its soft background. */
  readonly hue: { readonly text: Pair; readonly soft: Pair };
  readonly family: Readonly<Record<string, readonly string[]>>;
  readonly size: Readonly<Record<string, Fluid>>;
  /** In pixels. */
  readonly space: readonly number[];
  readonly radius: readonly number[];
  /** Maximum line length of prose, in rem. */
  readonly measure: number;
  /** In milliseconds. */
  readonly motion: number;
}

/** A token whose name the theme is free to choose. */
export interface NamedToken {
  /** The path in tokens.json, such as `color`, `accent`. */
  readonly path: readonly [string, string];
  /** The custom property in style sheets. */
  readonly property: string;
}

export const namedTokens = ({
  color = {},
  size = {},
  family = {},
}: Static<typeof TokensFile>): readonly NamedToken[] => [
  ...Object.keys(color).map((key): NamedToken => ({ path: ['color', key], property: `--${key}` })),
  ...Object.keys(size).map((key): NamedToken => ({ path: ['size', key], property: `--size-${key}` })),
  ...Object.keys(family).map((key): NamedToken => ({ path: ['family', key], property: `--family-${key}` })),
];

/** Merges the root first; lists are replaced as a whole. */
export function mergeTokens(chain: readonly object[]): Tokens {
  return chain.reduce<Record<string, unknown>>(
    (all, own) => overlay(all, own as Record<string, unknown>),
    {},
  ) as unknown as Tokens;
}

function overlay(
  under: Readonly<Record<string, unknown>>,
  over: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const result: Record<string, unknown> = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = under[key];
    const nested = isRecord(value) && isRecord(below);
    result[key] = nested ? overlay(below, value) : value;
  }
  return result;
}
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const NAME = /^[a-z0-9][a-z0-9-]*$/;
const FAMILY = /^[A-Za-z][A-Za-z0-9 -]*$/;
const GENERIC = new Set(['system-ui', 'ui-monospace', 'ui-serif', 'sans-serif', 'serif', 'monospace', '-apple-system']);

/** `path`: where the token is in tokens.json. */
export class TokenError extends ConfigurationError {
  readonly path: readonly string[];

  constructor(path: readonly string[], why: string) {
    super(why);
    this.path = path;
  }
}

interface Scheme {
  readonly light: Colour;
  readonly dark: Colour;
}

function scheme(path: readonly string[], { light, dark }: Pair): Scheme {
  const read = (text: string): Colour => {
    const colour = parseColour(String(text));
    if (!colour) throw new TokenError(path, `the token "${path.at(-1)}" is "${text}"; write oklch(L% C H) or #rrggbb`);
    return fit(colour);
  };
  return { light: read(light), dark: read(dark) };
}

const number = (path: readonly string[], value: number, most: number): number => {
  if (typeof value === 'number' && value >= 0 && value <= most) return value;
  throw new TokenError(path, `the token "${path.join('.')}" must be a number from 0 to ${most}`);
};

/**
 * The name of each colour's custom property with its light and dark value. Values are serialised from parsed numbers,
 * never copied as text.
 */
function colours(tokens: Tokens): readonly (readonly [string, Scheme])[] {
  return Object.entries(tokens.color).map(([key, pair]) => {
    const path = ['color', key];
    assertName(path, key);
    return [key, scheme(path, pair)];
  });
}

/** Names are copied into the style sheet verbatim. */
function assertName(path: readonly string[], key: string): void {
  if (!NAME.test(key)) throw new TokenError(path, `the token name "${key}" may only have a-z, 0-9 and "-"`);
}

function sizes(tokens: Tokens): string[] {
  return Object.entries(tokens.size).map(([key, { min, base, slope, max }]) => {
    assertName(['size', key], key);
    const [low, at, grow, high] = [min, base, slope, max].map((value) => number(['size', key], value, 8)) as [
      number,
      number,
      number,
      number,
    ];
    return grow === 0 ? `--size-${key}:${low}rem` : `--size-${key}:clamp(${low}rem,${at}rem + ${grow}vw,${high}rem)`;
  });
}

function families(tokens: Tokens): string[] {
  return Object.entries(tokens.family).map(([key, names]) => {
    assertName(['family', key], key);
    const shown = names.map((name) => {
      if (GENERIC.has(name)) return name;
      if (!FAMILY.test(name))
        throw new TokenError(['family', key], `the font "${name}" may only have letters, digits, spaces and "-"`);
      return `"${name}"`;
    });
    return `--family-${key}:${shown.join(',')}`;
  });
}

const HUES = Array.from({ length: 24 }, (_, step) => step * 15);

function hues({ hue: { text, soft } }: Tokens): (readonly [number, Scheme, Scheme])[] {
  const turned = (at: Scheme, h: number): Scheme => ({ light: fit({ ...at.light, h }), dark: fit({ ...at.dark, h }) });
  const parsed = { text: hueScheme(['hue', 'text'], text), soft: hueScheme(['hue', 'soft'], soft) };
  return HUES.map((h) => [h, turned(parsed.text, h), turned(parsed.soft, h)]);
}
// Fitted only after the hue is set, because the maximum chroma depends on the hue.
function hueScheme(path: readonly string[], { light, dark }: Pair): Scheme {
  const read = (text: string): Colour => parseColour(String(text)) ?? scheme(path, { light: text, dark: text }).light;
  return { light: read(light), dark: read(dark) };
}

/**
 * The generated style sheet: custom properties and `hue-…` classes. Light and dark values are combined with
 * `light-dark()`; older browsers get the light value.
 */
export function tokenSheet(tokens: Tokens): string {
  const pair = ({ light, dark }: Scheme): string => `light-dark(${cssColour(light)},${cssColour(dark)})`;
  const list = colours(tokens);
  const plain = [
    ...families(tokens),
    ...sizes(tokens),
    ...tokens.space.map(
      (value, index) => `--space-${index + 1}:calc(${number(['space'], value, 200) / 16}rem*var(--density))`,
    ),
    ...tokens.radius.map((value, index) => `--radius-${index + 1}:${number(['radius'], value, 64)}px`),
    `--measure:${number(['measure'], tokens.measure, 120)}rem`,
    `--motion:${number(['motion'], tokens.motion, 1000)}ms`,
  ];
  const wheel = hues(tokens);
  const both = list.map(([key, colour]) => `--${key}:${pair(colour)}`);
  const all = new Map(list);
  const more = Object.entries(HIGHER_CONTRAST)
    .flatMap(([quiet, strong]) => (all.has(strong) ? [`--${quiet}:${pair(all.get(strong)!)}`] : []))
    .join(';');
  const old = list.map(([key, { light }]) => `--${key}:${cssColour(light)}`);
  return [
    '@layer reset,tokens,base,components,plugins,theme,utilities;',
    '@layer tokens{',
    `:root{color-scheme:light dark;--density:1;${[...plain, ...both].join(';')}}`,
    ...wheel.map(([h, text, soft]) => `.hue-${h}{--cat:${pair(text)};--cat-soft:${pair(soft)}}`),
    '[data-scheme=light]{color-scheme:light}[data-scheme=dark]{color-scheme:dark}',
    '[data-density=compact]{--density:.75}[data-text=large]{font-size:112.5%}[data-text=larger]{font-size:125%}',
    `@media(prefers-contrast:more){:root:not([data-contrast=normal]){${more}}}[data-contrast=more]{${more}}`,
    '@media(prefers-reduced-motion:reduce){:root{--motion:0ms}}',
    `@supports not (color:light-dark(red,red)){:root{color-scheme:light;${old.join(';')}}`,
    ...wheel.map(([h, { light }, soft]) => `.hue-${h}{--cat:${cssColour(light)};--cat-soft:${cssColour(soft.light)}}`),
    '}}',
  ].join('\n');
}
/** With higher contrast, every muted text or border colour becomes the next stronger one. */
const HIGHER_CONTRAST = {
  'text-2': 'text',
  'text-3': 'text-2',
  border: 'border-control',
  'border-control': 'text-2',
} as const;

/** The page's background colour, for the browser's own interface. */
export const themeColours = ({ color }: Tokens): { readonly light: string; readonly dark: string } => {
  const ground = scheme(['color', 'surface-0'], color['surface-0'] ?? { light: '#ffffff', dark: '#000000' });
  return { light: hexColour(ground.light), dark: hexColour(ground.dark) };
};

export interface ContrastProblem {
  readonly scheme: 'light' | 'dark';
  readonly pair: string;
  readonly ratio: number;
  readonly needed: number;
}

const SURFACES = ['surface-0', 'surface-1', 'surface-2'];
/** Foreground, backgrounds, minimum ratio: 4.5 for text, 3 for controls and focus (WCAG 1.4.3 and 1.4.11). */
const PAIRS: readonly (readonly [string, readonly string[], number])[] = [
  ...['text', 'text-2', 'text-3', 'link', 'visited', 'accent', 'danger', 'success', 'warning'].map(
    (key) => [key, [...SURFACES, 'surface-3'], 4.5] as const,
  ),
  ...['code-keyword', 'code-string', 'code-number', 'code-name', 'code-type'].map(
    (key) => [key, ['surface-2'], 4.5] as const,
  ),
  ['border-control', SURFACES, 3],
  ['focus', [...SURFACES, 'surface-3'], 3],
  ['on-accent', ['accent', 'accent-hover'], 4.5],
  ['on-accent-soft', ['accent-soft'], 4.5],
  ['on-danger', ['danger'], 4.5],
  ['success', ['success-soft'], 4.5],
  ['warning', ['warning-soft'], 4.5],
  ['danger', ['danger-soft'], 4.5],
  ['text', ['mark', 'accent-soft', 'success-soft', 'warning-soft', 'danger-soft', 'staff-soft'], 4.5],
  ...['text-2', 'link', 'visited'].map((key) => [key, ['staff-soft'], 4.5] as const),
];

/** Every pair with too little contrast, in both schemes, including the category hues. */
export function contrastProblems(tokens: Tokens): readonly ContrastProblem[] {
  const all = new Map(colours(tokens));
  const problems: ContrastProblem[] = [];
  const compare = (name: string, over: Scheme, under: Scheme, needed: number): void => {
    for (const at of ['light', 'dark'] as const) {
      const ratio = contrast(over[at], under[at]);
      if (ratio < needed) problems.push({ scheme: at, pair: name, ratio, needed });
    }
  };
  for (const [key, grounds, needed] of PAIRS) {
    for (const ground of grounds) {
      const [over, under] = [all.get(key), all.get(ground)];
      if (over && under) compare(`${key} on ${ground}`, over, under, needed);
    }
  }
  for (const [h, text, soft] of hues(tokens)) compare(`hue-${h} on its soft ground`, text, soft, 4.5);
  return problems;
}
