import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { check, ConfigurationError, Type, type Static, type TSchema } from 'parley-forum';
import { contrastProblems, mergeTokens, TokenError, TokensFile, tokenSheet, type Tokens } from './tokens.ts';

const Manifest = Type.Object({
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
});

/** One theme as it lies on disk: data, templates and style, never code. */
export interface Theme extends Static<typeof Manifest> {
  readonly folder: string;
}

/** The root of every chain. */
export const ROOT_THEME = 'default';
const MAX_DEPTH = 4;

/** The theme and what it extends, itself first, `default` last. Throws `ConfigurationError` naming theme and remedy. */
export function loadChain(id: string, folders: readonly string[]): readonly Theme[] {
  const chain: Theme[] = [];
  for (let next: string | undefined = id; next !== undefined;) {
    if (chain.some((theme) => theme.id === next))
      throw new ConfigurationError(`The theme "${id}" extends itself; change "extends" in ${next}/theme.json`);
    if (chain.length === MAX_DEPTH)
      throw new ConfigurationError(`The theme "${id}" has more than ${MAX_DEPTH - 1} ancestors`);
    const theme = loadTheme(next, folders);
    chain.push(theme);
    next = theme.extends ?? (theme.id === ROOT_THEME ? undefined : ROOT_THEME);
  }
  return chain;
}

/** The ids of the themes that lie in these folders, in the order of the alphabet, whether they can be used or not. */
export function installedThemes(folders: readonly string[]): readonly string[] {
  const found = folders.flatMap((parent) =>
    existsSync(parent) ? readdirSync(parent).filter((name) => existsSync(join(parent, name, 'theme.json'))) : [],
  );
  return [...new Set(found)].sort((a, b) => (a < b ? -1 : 1));
}

function loadTheme(id: string, folders: readonly string[]): Theme {
  const folder = folders
    .map((parent) => join(parent, id))
    .find((candidate) => existsSync(join(candidate, 'theme.json')));
  if (!folder) throw new ConfigurationError(`There is no theme "${id}"; install it in themes/${id} or choose another`);
  const result = check(Manifest, readJson(join(folder, 'theme.json')));
  if (!result.ok)
    throw new ConfigurationError(
      `The theme "${id}" has a bad theme.json: ${result.problems.map(({ field, message }) => `${field} ${message}`).join('; ')}`,
    );
  if (result.value.id !== id)
    throw new ConfigurationError(
      `The theme in ${folder} calls itself "${result.value.id}"; its id must be the folder's name`,
    );
  const link = linkIn(folder);
  // What it leads to would be shown to everybody, such as the secrets of this site.
  if (link !== undefined) throw unusableTheme(id, `${link} is a link, and a theme may only show files of its own`);
  return { ...result.value, folder };
}

/** Folders and files of a theme that are read: its author's tools may have links of their own beside them. */
const READ = /^(?:assets|locales|templates|.+\.json)$/;

/** A link among what is read of a theme, by its path in the theme. */
function linkIn(folder: string): string | undefined {
  const read = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => READ.test(name));
  const inside = read.flatMap((part) =>
    part.isDirectory() ? readdirSync(join(folder, part.name), { withFileTypes: true, recursive: true }) : [],
  );
  const link = [...read, ...inside].find((entry) => entry.isSymbolicLink());
  return link && relative(folder, join(link.parentPath, link.name));
}

/** Enough of the path to find the file, without the forum's location on this machine. */
export const shortPath = (file: string): string => KNOWN_PATH.exec(file)?.[1] ?? file.split('/').slice(-3).join('/');
const KNOWN_PATH = /\/((?:themes|plugins)\/[a-z0-9-]+\/(?:[^/]+|(?:templates|views|locales)\/.+))$/;

export const unusableTheme = (theme: string, why: string): ConfigurationError =>
  new ConfigurationError(`The theme "${theme}" cannot be used: ${why}. Correct that, or choose another theme.`);

/** Throws `ConfigurationError` naming file and line. */
export function readJson(file: string): unknown {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    // For some mistakes the parser reports the text instead of the line.
    const [, line] = /\(line (\d+) /.exec(why) ?? [];
    throw new ConfigurationError(`${shortPath(file)}${line ? `:${line}` : ''}: is not valid JSON (${why})`, {
      cause: error,
    });
  }
}

/** A theme's file of data, if it has one. */
function optional<S extends TSchema>(theme: Theme, name: string, schema: S): Static<S>[] {
  const file = join(theme.folder, name);
  if (!existsSync(file)) return [];
  const result = check(schema, readJson(file));
  if (result.ok) return [result.value];
  throw unusableTheme(
    theme.id,
    `${shortPath(file)}: ${result.problems.map(({ field, message }) => `${field} ${message}`).join('; ')}`,
  );
}

/** Tokens merge per key, the root theme first. */
export const chainTokens = (chain: readonly Theme[]): Tokens =>
  mergeTokens(chain.toReversed().flatMap((theme) => optional(theme, 'tokens.json', TokensFile)));

/** The generated style sheet. Throws `ConfigurationError` naming the file and line of a token that will not do. */
export function chainTokenSheet(chain: readonly Theme[], tokens: Tokens): string {
  try {
    return tokenSheet(tokens);
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    throw unusableTheme(chain[0]?.id ?? '', `${placeOf(chain, error.path)}: ${error.message}`);
  }
}

/** File and line of a token, in the theme nearest to the first that has it. */
function placeOf(chain: readonly Theme[], path: readonly string[]): string {
  for (const { folder } of chain) {
    const file = join(folder, 'tokens.json');
    if (!existsSync(file)) continue;
    const text = readFileSync(file, 'utf8');
    const has = path.reduce<unknown>(
      (inner, key) => (inner as Record<string, unknown> | undefined)?.[key],
      JSON.parse(text),
    );
    if (has === undefined) continue;
    // Each key of the path stands behind the one that it belongs to.
    const at = path.reduce((from, key) => text.indexOf(JSON.stringify(key), from), 0);
    return `${shortPath(file)}:${text.slice(0, at).split('\n').length}`;
  }
  return 'tokens.json';
}

/** How many of the hardest to read are named. */
const NAMED = 3;

/** Which colours of a theme are harder to read than they may be, as a sentence; undefined where none is. */
export function hardToRead(tokens: Tokens): string | undefined {
  const problems = contrastProblems(tokens).toSorted((a, b) => a.ratio / a.needed - b.ratio / b.needed);
  if (problems.length === 0) return undefined;
  const named = problems
    .slice(0, NAMED)
    .map(({ pair, scheme, ratio, needed }) => `${pair} in ${scheme} (${ratio.toFixed(1)} : 1, least ${needed} : 1)`);
  const more = problems.length > NAMED ? [`and ${problems.length - NAMED} more`] : [];
  return `Colours of the theme are hard to read: ${[...named, ...more].join(', ')}. Change them in its tokens.json.`;
}

const Icons = Type.Record(Type.String(), Type.Array(Type.String()));
const PATH_DATA = /^[MmLlHhVvCcSsQqTtAaZz0-9.,\s-]+$/;

/**
 * Icons by name: path data on a 24 by 24 grid, drawn as strokes. Data only, so that a theme cannot bring markup along.
 */
export function chainIcons(chain: readonly Theme[]): ReadonlyMap<string, readonly string[]> {
  const all = Object.assign(
    {},
    ...chain.toReversed().flatMap((theme) => optional(theme, 'icons.json', Icons)),
  ) as Record<string, readonly string[]>;
  for (const [name, paths] of Object.entries(all)) {
    const fine = paths.every((path) => PATH_DATA.test(path));
    if (!fine) throw new ConfigurationError(`The icon "${name}" must be a list of SVG path data`);
  }
  return new Map(Object.entries(all));
}

const Texts = Type.Record(Type.String(), Type.Union([Type.String(), Type.Record(Type.String(), Type.String())]));

/** The languages that a chain has texts of its own in. */
export const offeredLanguages = (chain: readonly Theme[]): readonly string[] =>
  chain.flatMap(({ folder }) => globSync('locales/*.json', { cwd: folder }).map((file) => basename(file, '.json')));

/**
 * Looks at every text of the chain: its own, those it has for plugins, and what code says in English. Throws
 * `ConfigurationError` naming the file.
 */
export function checkLocales(chain: readonly Theme[]): void {
  for (const theme of chain) {
    for (const file of globSync('locales/{,failures/,declared/,plugins/*/}*.json', { cwd: theme.folder })) {
      optional(theme, file, Texts);
      if (!isLanguage(basename(file, '.json')))
        throw unusableTheme(
          theme.id,
          `${shortPath(join(theme.folder, file))}: its name must be a language, such as de or pt-BR`,
        );
    }
  }
}

function isLanguage(id: string): boolean {
  try {
    return Intl.getCanonicalLocales(id).length === 1;
  } catch {
    return false;
  }
}
