import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import {
  check,
  ConfigurationError,
  didYouMean,
  messageOf,
  Type,
  type Environment,
  type FieldProblem,
  type Static,
  type TSchema,
} from 'parley-forum';
import {
  contrastProblems,
  mergeTokens,
  namedTokens,
  TokenError,
  TokensFile,
  tokenSheet,
  type NamedToken,
  type Tokens,
} from './tokens.ts';

const ThemeId = Type.String({
  pattern: '^[a-z][a-z0-9-]*$',
  'x-pattern-problem': 'must be lowercase letters, digits and hyphens, beginning with a letter',
});
const Manifest = Type.Object({
  id: ThemeId,
  name: Type.String({ minLength: 1, maxLength: 80 }),
  version: Type.String(),
  /** Version of the template contract. */
  api: Type.Literal(1),
  extends: Type.Optional(ThemeId),
  author: Type.Optional(Type.String()),
  license: Type.Optional(Type.String()),
  /** Below assets/, in the order they are joined. */
  styles: Type.Optional(
    Type.Array(
      Type.String({
        pattern: '^[a-z0-9/-]+\\.css$',
        'x-pattern-problem': 'must be a path of lowercase letters, digits and hyphens that ends with .css',
      }),
    ),
  ),
});

/** A theme as stored on disk: data, templates and styles, never code. */
export interface Theme extends Static<typeof Manifest> {
  readonly folder: string;
}

/** The root of every chain. */
export const ROOT_THEME = 'default';
/** The maximum number of themes in a chain. */
export const MAX_DEPTH = 4;

const OF_PROGRAM = join(import.meta.dirname, '../../../themes');
/** The folders in which themes are looked up, in order: those of the program, the site and the installation. */
export const themeFolders = ({ siteDir, dataDir }: Pick<Environment, 'siteDir' | 'dataDir'>): readonly string[] => [
  ...new Set([OF_PROGRAM, ...[siteDir, dataDir].map((folder) => join(folder, 'themes'))]),
];

/** The theme and its ancestors: itself first, `default` last. Throws `ConfigurationError` naming theme and remedy. */
export function loadChain(id: string, folders: readonly string[]): readonly Theme[] {
  const chain: Theme[] = [];
  for (let next: string | undefined = id; next !== undefined;) {
    if (chain.some((theme) => theme.id === next))
      throw new ConfigurationError(`The theme "${id}" extends itself; change "extends" in ${next}/theme.json`);
    if (chain.length === MAX_DEPTH)
      throw new ConfigurationError(`The theme "${id}" has more than ${MAX_DEPTH - 1} ancestors`);
    const theme = loadTheme(next, folders);
    chain.push(theme);
    next = parentOf(theme);
  }
  return chain;
}

/** The id of the theme that a theme extends; undefined for the root. */
export const parentOf = ({ id, extends: parent }: Theme): string | undefined =>
  parent ?? (id === ROOT_THEME ? undefined : ROOT_THEME);

/** The ids of the themes in these folders in alphabetical order, including those that cannot be used. */
export function installedThemes(folders: readonly string[]): readonly string[] {
  const found = folders.flatMap((parent) =>
    existsSync(parent) ? readdirSync(parent).filter((name) => existsSync(join(parent, name, 'theme.json'))) : [],
  );
  return [...new Set(found)].sort((a, b) => (a < b ? -1 : 1));
}

/** Loads a theme without its parents. Throws `ConfigurationError` naming it and the remedy. */
export function loadTheme(id: string, folders: readonly string[]): Theme {
  const folder = folders
    .map((parent) => join(parent, id))
    .find((candidate) => existsSync(join(candidate, 'theme.json')));
  if (!folder) throw new ConfigurationError(`There is no theme "${id}"; install it in themes/${id} or choose another`);
  const manifest = join(folder, 'theme.json');
  const result = check(Manifest, readJson(manifest));
  if (!result.ok) throw unusableTheme(id, ...faultsOf(manifest, result.problems));
  if (result.value.id !== id)
    throw new ConfigurationError(
      `The theme in ${folder} has the id "${result.value.id}"; its id must be the folder's name`,
    );
  const link = linkIn(folder);
  // The target of the link, such as a file with the site's secrets, would be served to everyone.
  if (link !== undefined) throw unusableTheme(id, `${link} is a link, and a theme may only contain files of its own`);
  return { ...result.value, folder };
}

/** The files and folders of a theme that are read; its author's tools may keep links of their own beside them. */
const READ = /^(?:assets|locales|templates|.+\.json)$/;

/** The path within the theme of a symbolic link among the files that are read. */
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

/** A theme that cannot be used. The message lists all problems found. */
class UnusableTheme extends ConfigurationError {
  readonly problems: readonly string[];

  constructor(theme: string, problems: readonly string[]) {
    super(`The theme "${theme}" cannot be used: ${problems.join('; ')}. Fix this, or choose another theme.`);
    this.problems = problems;
  }
}
export const unusableTheme = (theme: string, ...problems: readonly string[]): ConfigurationError =>
  new UnusableTheme(theme, problems);

/** The problems of a theme as a list, if the error is about a theme; undefined for any other error. */
export const problemsIn = (error: unknown): readonly string[] | undefined =>
  error instanceof ConfigurationError ? ((error as Partial<UnusableTheme>).problems ?? [error.message]) : undefined;

/** The invalid fields of a file, each with its path and line. */
function faultsOf(file: string, problems: readonly FieldProblem[]): readonly string[] {
  const text = readFileSync(file, 'utf8');
  return [...Map.groupBy(problems, ({ field }) => field)].flatMap(([field, own]) => {
    const path = text.includes(JSON.stringify(field)) ? [field] : field.split('.');
    const place = `${shortPath(file)}:${lineOf(text, path)}: ${field}`;
    const messages = own.map(({ message }) => message).filter((message) => !message.endsWith(ANY_OF));
    // Each of the alternative schemas reports its own problem.
    return messages.length < own.length
      ? `${place} ${messages.join(' or ')}`
      : messages.map((one) => `${place} ${one}`);
  });
}
/** The message that ajv adds to the problems of the alternatives when none of them matches. */
const ANY_OF = 'must match a schema in anyOf';

/** The line in a JSON file of the last key of a path, or of the last of its keys that the file has. */
function lineOf(text: string, path: readonly string[]): number {
  // Each key of the path comes after its parent key.
  const at = path.reduce((from, key) => Math.max(from, text.indexOf(JSON.stringify(key), from)), 0);
  return text.slice(0, at).split('\n').length;
}

/** File and line of the last key of a path. */
export const placeIn = (file: string, path: readonly string[]): string =>
  `${shortPath(file)}:${lineOf(readFileSync(file, 'utf8'), path)}`;

/** Throws `ConfigurationError` naming file and line. */
function readJson(file: string): unknown {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    // For some syntax errors the parser reports the surrounding source text instead of a line number.
    const why = messageOf(error).replaceAll(/\s+/g, ' ');
    const line = /\(line (\d+) /.exec(why)?.[1] ?? text.slice(0, endOfJson(text)).split('\n').length;
    throw new ConfigurationError(`${shortPath(file)}:${line}: is not valid JSON (${why})`, { cause: error });
  }
}

/**
 * The length in characters of the longest prefix that could be the start of valid JSON; the character after it is
 * unexpected.
 */
function endOfJson(text: string): number {
  const goesWrong = (length: number): boolean => {
    try {
      JSON.parse(text.slice(0, length));
      return false;
    } catch (error) {
      return messageOf(error).startsWith('Unexpected token');
    }
  };
  let [right, wrong] = [0, text.length + 1];
  while (wrong - right > 1) {
    const middle = (right + wrong) >> 1;
    if (goesWrong(middle)) wrong = middle;
    else right = middle;
  }
  return right;
}

/** A theme's data file, if it has one. */
function optional<S extends TSchema>(theme: HasTexts, name: string, schema: S): Static<S>[] {
  const file = join(theme.folder, name);
  if (!existsSync(file)) return [];
  const result = check(schema, readJson(file));
  if (result.ok) return [result.value];
  throw unusableTheme(theme.id, ...faultsOf(file, result.problems));
}

/** Tokens are merged key by key, starting with the root theme. */
export const chainTokens = (chain: readonly Theme[]): Tokens =>
  mergeTokens(chain.toReversed().flatMap((theme) => optional(theme, 'tokens.json', TokensFile)));

/** The generated style sheet. Throws `ConfigurationError` naming the file and line of an invalid token. */
export function chainTokenSheet(chain: readonly Theme[], tokens: Tokens): string {
  try {
    return tokenSheet(tokens);
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    throw unusableTheme(chain[0]?.id ?? '', `${placeOf(chain, error.path)}: ${error.message}`);
  }
}

/** File and line of a token, in the first theme of the chain that has it. */
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
    return `${shortPath(file)}:${lineOf(text, path)}`;
  }
  return 'tokens.json';
}

/** How many of the least readable colours are listed. */
const NAMED = 3;

/** A sentence that lists colours of a theme with too little contrast; undefined if there are none. */
export function hardToRead(tokens: Tokens): string | undefined {
  const problems = contrastProblems(tokens).toSorted((a, b) => a.ratio / a.needed - b.ratio / b.needed);
  if (problems.length === 0) return undefined;
  const named = problems
    .slice(0, NAMED)
    .map(({ pair, scheme, ratio, needed }) => `${pair} in ${scheme} (${ratio.toFixed(1)} : 1, minimum ${needed} : 1)`);
  const more = problems.length > NAMED ? [`and ${problems.length - NAMED} more`] : [];
  return `Colours of the theme are hard to read: ${[...named, ...more].join(', ')}. Change them in its tokens.json.`;
}

/**
 * Tokens of the first theme that have no effect: the default theme does not have them, and no style sheet uses them.
 * `sheets`: the texts of all style sheets.
 */
export function unusedTokens(chain: readonly Theme[], sheets: readonly string[]): readonly string[] {
  const [theme] = chain;
  const root = chain.at(-1);
  if (!theme || !root) return [];
  const named = (one: Theme): readonly NamedToken[] => namedTokens(optional(one, 'tokens.json', TokensFile)[0] ?? {});
  const known = named(root);
  return named(theme)
    .filter(({ property }) => !known.some((token) => token.property === property))
    .filter(({ property }) => !sheets.some((text) => new RegExp(`var\\(\\s*${property}\\s*[,)]`).test(text)))
    .map(({ path, property }) => {
      const others = known.filter((token) => token.path[0] === path[0]).map((token) => token.path[1]);
      const place = placeIn(join(theme.folder, 'tokens.json'), path);
      return `${place}: no style sheet uses ${property}; ${didYouMean(path[1], others, 'use it, or remove it')}`;
    });
}

/** Keys of a theme's theme.json and groups of its tokens.json that have no effect. */
export function unknownKeys(theme: HasTexts): readonly string[] {
  const files = [
    ['theme.json', Object.keys(Manifest.properties)],
    ['tokens.json', ['$version', ...Object.keys(TokensFile.properties)]],
  ] as const;
  return files.flatMap(([name, known]) => {
    const file = join(theme.folder, name);
    const found = existsSync(file) ? (readJson(file) as object) : {};
    return Object.keys(found)
      .filter((key) => !known.includes(key))
      .map((key) => `${placeIn(file, [key])}: "${key}" means nothing here; ${didYouMean(key, known, 'remove it')}`);
  });
}

const Icons = Type.Record(Type.String(), Type.Array(Type.String()));
const PATH_DATA = /^[MmLlHhVvCcSsQqTtAaZz0-9.,\s-]+$/;

/**
 * Icons by name: path data on a 24 by 24 grid, drawn as strokes. Data only, so that a theme cannot add markup. The
 * paths of an icon are joined into one, because a page has dozens of icons.
 */
export const chainIcons = (chain: readonly Theme[]): ReadonlyMap<string, string> =>
  new Map(
    chain
      .toReversed()
      .flatMap(iconsOf)
      .map(([name, paths]) => [name, paths.map(fromOrigin).join('')]),
  );

/**
 * Makes an initial `m` absolute: it is relative to the origin in a path of its own, but to the end of the path before
 * it once they are joined.
 */
const fromOrigin = (path: string): string => (path.trimStart().startsWith('m') ? `M0 0${path}` : path);

function iconsOf(theme: Theme): [string, readonly string[]][] {
  const icons = optional(theme, 'icons.json', Icons).flatMap(Object.entries<string[]>);
  const wrong = icons.filter(([, paths]) => !paths.every((path) => PATH_DATA.test(path)));
  const place = (name: string): string => placeIn(join(theme.folder, 'icons.json'), [name]);
  if (wrong.length === 0) return icons;
  throw unusableTheme(
    theme.id,
    ...wrong.map(([name]) => `${place(name)}: the icon "${name}" must be a list of SVG path data`),
  );
}

const Texts = Type.Record(Type.String(), Type.Union([Type.String(), Type.Record(Type.String(), Type.String())]));

/** The languages in which a chain has texts of its own. */
export const offeredLanguages = (chain: readonly Theme[]): readonly string[] =>
  chain.flatMap(({ folder }) => globSync('locales/*.json', { cwd: folder }).map((file) => basename(file, '.json')));

/** A theme or a plugin: both have locale files at the same place. */
type HasTexts = Pick<Theme, 'id' | 'folder'>;

/**
 * The locale files of themes or plugins: their own texts, texts of a theme for plugins, and translations of sentences in
 * code.
 */
export const localeFiles = (owners: readonly HasTexts[]): readonly (readonly [HasTexts, file: string])[] =>
  owners.flatMap((theme) =>
    globSync('locales/{,failures/,declared/,plugins/*/}*.json', { cwd: theme.folder }).map(
      (file) => [theme, file] as const,
    ),
  );

/** Checks every text in a file. Throws `ConfigurationError` naming it. */
export function checkLocale([theme, file]: readonly [HasTexts, file: string]): void {
  optional(theme, file, Texts);
  if (!isLanguage(basename(file, '.json')))
    throw unusableTheme(
      theme.id,
      `${shortPath(join(theme.folder, file))}: its name must be a language, such as de or pt-BR`,
    );
}

/**
 * The texts in a file of a plugin. If it cannot be used, none, since it must not break the pages of other plugins: the
 * error is passed on, and pages show the names of these texts.
 */
export function usableTexts(file: string, unusable: (error: unknown) => void = () => undefined): Static<typeof Texts> {
  try {
    const result = check(Texts, readJson(file));
    if (result.ok) return result.value;
    throw new ConfigurationError(faultsOf(file, result.problems).join('; '));
  } catch (error) {
    unusable(error);
    return {};
  }
}

function isLanguage(id: string): boolean {
  try {
    return Intl.getCanonicalLocales(id).length === 1;
  } catch {
    return false;
  }
}
