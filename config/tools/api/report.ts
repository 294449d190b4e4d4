import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTool } from '../checks/support/command.ts';
import { pluginFolders, readPaths } from '../checks/support/files.ts';
import { memberName, surfaceOf, type Entry, type Module } from './surface.ts';

/**
 * Reads the modules of the package by name, compiled to declarations; takes seconds. `versions` are those of the
 * plugins.
 */
export async function readSurface(root: string, versions: ReadonlyMap<string, string>): Promise<readonly Module[]> {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
  const plugins = pluginFolders(root).filter((id) => existsSync(join(root, 'plugins', id, 'api.ts')));
  const modules = new Map([
    ['parley-forum', { file: 'core/index', version }],
    ...plugins.map(
      (id) => [`parley-forum/plugins/${id}`, { file: `plugins/${id}/api`, version: versions.get(id) ?? '' }] as const,
    ),
    ...readPaths(root, ['plugins/ports']).map((path) => {
      const file = path.replace(/\.ts$/, '');
      return [`parley-forum/${file.slice('plugins/'.length)}`, { file, version }] as const;
    }),
    ['parley-forum/testing', { file: 'test/kit/index', version }],
  ]);
  const folder = mkdtempSync(join(tmpdir(), 'parley-declarations-'));
  try {
    const flags = ['--emitDeclarationOnly', '--sourceMap', 'false', '--inlineSources', 'false', '--outDir', folder];
    const project = ['-p', 'config/tools/tsconfig.build.json'];
    const { code, output } = await runTool('typescript-native/bin/tsc', [...project, ...flags], root);
    if (code !== 0) throw new Error(`the declarations cannot be written:\n${output}`);
    return surfaceOf(modules, (file) => {
      const path = join(folder, `${file}.d.ts`);
      return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Marks an entry as deprecated. */
const DEPRECATED = '@deprecated ';

/** The body of docs/reference/api-report.md: one block per module and one line per entry, with members indented. */
export const writeReport = (modules: readonly Module[]): string =>
  modules
    .map(
      ({ name, version, entries }) =>
        `## ${name} ${version}`.trimEnd() + `\n\n\`\`\`text\n${entries.map(lineOf).join('\n')}\n\`\`\``,
    )
    .join('\n\n');

const lineOf = ({ name, text, deprecated }: Entry): string => {
  const mark = deprecated ? DEPRECATED : '';
  return isMember(name) ? `  ${mark}${text}` : `${mark}${name}: ${text}`;
};

/** File paths contain dots too, hence only the part after `#` counts. */
export const isMember = (name: string): boolean => name.slice(name.indexOf('#') + 1).includes('.');

const MODULE = /^## (\(not exported\)|\S+)(?: (\S+))?\n+```text\n([\s\S]*?)\n?```$/gm;
const LINE = /^( *)(@deprecated )?(.*)$/;

/** Parses a report written by `writeReport`. */
export const readReport = (text: string): readonly Module[] =>
  [...text.matchAll(MODULE)].map(([, name = '', version = '', body = '']) => {
    let declaration = '';
    const entries = body.split('\n').flatMap((line): Entry[] => {
      const [, indent, mark, words = ''] = LINE.exec(line) ?? [];
      if (words === '') return [];
      const deprecated = mark !== undefined;
      if (indent) return [{ name: `${declaration}.${memberName(words)}`, text: words, deprecated }];
      const [, own = '', rest = ''] = /^(\S+): (.*)$/.exec(words) ?? [];
      declaration = own;
      return [{ name: own, text: rest, deprecated }];
    });
    return { name, version, entries };
  });
