import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, ConfigurationError, Type, type Static } from '#core';
import { mergeTokens, type Tokens } from './tokens.ts';

const Manifest = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z][a-z0-9-]*$' }),
    name: Type.String({ minLength: 1, maxLength: 80 }),
    version: Type.String(),
    /** Version of the template contract. */
    api: Type.Literal(1),
    extends: Type.Optional(Type.String({ pattern: '^[a-z][a-z0-9-]*$' })),
    author: Type.Optional(Type.String()),
    license: Type.Optional(Type.String()),
    /** Below assets/, in the order they are joined. */
    styles: Type.Optional(Type.Array(Type.String({ pattern: '^[a-z0-9/-]+\\.css$' }))),
  },
);

/** One theme as it lies on disk: data, templates and style, never code. */
export interface Theme extends Static<typeof Manifest> {
  readonly folder: string;
}

/** The root of every chain. */
export const ROOT_THEME = 'default';
const DEEPEST = 4;

/** The theme and what it extends, itself first, `default` last. Throws `ConfigurationError` naming theme and remedy. */
export function loadChain(id: string, folders: readonly string[]): readonly Theme[] {
  const chain: Theme[] = [];
  for (let next: string | undefined = id; next !== undefined; ) {
    if (chain.some((theme) => theme.id === next)) throw new ConfigurationError(`The theme "${id}" extends itself; change "extends" in ${next}/theme.json`);
    if (chain.length === DEEPEST) throw new ConfigurationError(`The theme "${id}" has more than ${DEEPEST - 1} ancestors`);
    const theme = loadTheme(next, folders);
    chain.push(theme);
    next = theme.extends ?? (theme.id === ROOT_THEME ? undefined : ROOT_THEME);
  }
  return chain;
}

function loadTheme(id: string, folders: readonly string[]): Theme {
  const folder = folders.map((parent) => join(parent, id)).find((candidate) => existsSync(join(candidate, 'theme.json')));
  if (!folder) throw new ConfigurationError(`There is no theme "${id}"; install it in themes/${id} or choose another`);
  const result = check(Manifest, readJson(join(folder, 'theme.json')));
  if (!result.ok) throw new ConfigurationError(`The theme "${id}" has a bad theme.json: ${result.problems.map(({ field, message }) => `${field} ${message}`).join('; ')}`);
  if (result.value.id !== id) throw new ConfigurationError(`The theme in ${folder} calls itself "${result.value.id}"; its id must be the folder's name`);
  return { ...result.value, folder };
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new ConfigurationError(`${file} is not valid JSON`, { cause: error });
  }
}

const optional = (theme: Theme, name: string): object[] => {
  const file = join(theme.folder, name);
  return existsSync(file) ? [readJson(file) as object] : [];
};

/** Tokens merge per key, the root theme first. */
export const chainTokens = (chain: readonly Theme[]): Tokens => mergeTokens(chain.toReversed().flatMap((theme) => optional(theme, 'tokens.json')));

const PATH_DATA = /^[MmLlHhVvCcSsQqTtAaZz0-9.,\s-]+$/;

/** Icons by name: path data on a 24 by 24 grid, drawn as strokes. Data only, so that a theme cannot bring markup along. */
export function chainIcons(chain: readonly Theme[]): ReadonlyMap<string, readonly string[]> {
  const all = Object.assign({}, ...chain.toReversed().flatMap((theme) => optional(theme, 'icons.json'))) as Record<string, readonly string[]>;
  for (const [name, paths] of Object.entries(all)) {
    const fine = Array.isArray(paths) && paths.every((path) => PATH_DATA.test(path));
    if (!fine) throw new ConfigurationError(`The icon "${name}" must be a list of SVG path data`);
  }
  return new Map(Object.entries(all));
}
