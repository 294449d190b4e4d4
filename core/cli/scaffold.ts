import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { EXTENSION, PROGRAM, SITE } from '../host/site.ts';
import { ConfigurationError } from '../errors.ts';

/** Template files for new sites, plugins and packages. */
const TEMPLATES = join(import.meta.dirname, 'templates');
/** The folder of a template. */
export const templateOf = (what: 'package' | 'plugin' | 'site'): string => join(TEMPLATES, what);

/** The parts of this program's package.json that are used here. */
interface ProgramManifest {
  readonly version: string;
  readonly scripts: { readonly start: string };
  readonly devDependencies: Readonly<Record<string, string>>;
}

/**
 * Replacements by the name of their placeholder in a template; if one name is a prefix of another, the longer one comes
 * first.
 */
export type Names = Readonly<Record<string, string>>;

/**
 * Writes the files of a template. Template files end in `.txt` so that no tool mistakes them for the files they become;
 * `__id__` in their contents and paths is replaced by the `id` of `names`. `place` maps a path in the template to the
 * path below `target`; undefined skips the file. Existing files are not touched. Resolves to the paths written.
 */
export async function writeTemplate(
  from: string,
  target: string,
  names: Names,
  place: (path: string) => string | undefined = (path) => path,
): Promise<readonly string[]> {
  const entries = await readdir(from, { recursive: true });
  const written: string[] = [];
  for (const entry of entries.filter((one) => one.endsWith('.txt')).sort()) {
    const path = place(fill(entry.slice(0, -'.txt'.length).replaceAll('\\', '/'), names));
    if (path === undefined || existsSync(join(target, path))) continue;
    await mkdir(dirname(join(target, path)), { recursive: true });
    await writeFile(join(target, path), fill(await readFile(join(from, entry), 'utf8'), names), { flag: 'wx' });
    written.push(path);
  }
  return written;
}

/** Returns one file of a template as text. */
export const readTemplate = async (template: 'site', path: string, names: Names): Promise<string> =>
  fill(await readFile(join(TEMPLATES, template, `${path}.txt`), 'utf8'), names);

const fill = (text: string, names: Names): string =>
  Object.entries(names).reduce((filling, [name, value]) => filling.replaceAll(`__${name}__`, value), text);

/** The native compiler only type-checks, in a tenth of the time; the older one beside it also has an API. */
const COMPILER = 'typescript-native';

/**
 * The versions of the tools for working on a site or package, as this program uses them, and of this program itself.
 */
export function toolVersions(folder: string, spec?: string): Names {
  const { version, devDependencies } = manifest();
  const tool = (name: string): readonly [string, string] => [name, devDependencies[name]!];
  return {
    ...Object.fromEntries(['@types/node', 'vitest'].map(tool)),
    typescript: devDependencies[COMPILER]!.slice('npm:typescript@'.length),
    version,
    'parley-forum': spec ?? installedFrom(folder) ?? `^${version}`,
  };
}

/**
 * Where this program was installed from if not from a registry: its repository, or the file that the site refers to.
 */
function installedFrom(folder: string): string | undefined {
  if (EXTENSION === '.ts') return `file:${relative(folder, PROGRAM) || '.'}`;
  const file = join(SITE, 'package.json');
  const { dependencies } = (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}) as {
    readonly dependencies?: Names;
  };
  const spec = dependencies?.['parley-forum'];
  return spec?.startsWith('file:') ? `file:${relative(folder, resolve(SITE, spec.slice('file:'.length)))}` : undefined;
}

/** The command line that starts the program from a site's folder. */
export const startScript = (): string =>
  manifest().scripts.start.replace(/\bcore\/main\.[jt]s\b/, `node_modules/parley-forum/core/main${EXTENSION}`);

const manifest = (): ProgramManifest =>
  JSON.parse(readFileSync(join(PROGRAM, 'package.json'), 'utf8')) as ProgramManifest;

/** The initial configuration of a new site: this program's own, as text. */
export const defaultConfiguration = (): string =>
  readFileSync(
    ['config/forum.ts.txt', 'config/forum.ts'].map((path) => join(PROGRAM, path)).find((path) => existsSync(path))!,
    'utf8',
  );

/** Whether the program is its own site, that is, its sources are being worked on. */
export const inRepository = (): boolean => SITE === PROGRAM;

/** Throws if the text is not a valid plugin id. */
export function checkId(id: string): void {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(id))
    throw new ConfigurationError(
      `"${id}" is not a valid id: use lower-case words joined by "-", such as polls or star-charts`,
    );
}

/** The spellings of a plugin's id used in its files. */
export function spellings(id: string): Names {
  const words = id.split('-');
  const Capital = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
  return {
    Capital,
    Label: Capital[0] + words.join(' ').slice(1),
    camel: Capital[0]!.toLowerCase() + Capital.slice(1),
    table: words.join('_'),
    id,
  };
}
