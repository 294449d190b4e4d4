import ts from 'typescript';
import { basename } from 'node:path';
import type { Check } from './support/check.ts';
import { readFiles, type SourceFile } from './support/files.ts';
import { nodesOf, parseSource, placeOf } from './support/source.ts';

/** Suffixes that say nothing about what a thing does. */
const EMPTY_WORD = /(Impl|Manager|Helper|Util)s?$/;
const EMPTY_FILE = /^(.*-)?(impl|manager|helper|util)s?$/;
/** Names defined by libraries and exposed to plugins unchanged. */
const GIVEN = new Set(['EntityManager', 'SqlEntityManager']);
/** Handlebars calls the functions available in templates helpers, so the plugin that renders with it does too. */
const TEMPLATES = /^plugins\/web\//;
const HELPER = /helpers?$/i;

/** Names must be meaningful words: no empty suffixes, no `I` prefix for interfaces, no leading underscore. */
export const names: Check = {
  name: 'names',
  async run(root) {
    return readFiles(
      root,
      ['core', 'plugins', 'themes', 'config', 'migrations', 'test', 'docs/examples'],
      /\.ts$/,
    ).flatMap((file) => [...ofFile(file), ...ofDeclarations(file)]);
  },
};

function ofFile({ path }: SourceFile): readonly string[] {
  const name = basename(path).split('.')[0] ?? '';
  if (TEMPLATES.test(path) && HELPER.test(name)) return [];
  return EMPTY_FILE.test(name)
    ? [`${path}: "${name}" does not describe the contents of the file; name it after its main export`]
    : [];
}

function ofDeclarations(file: SourceFile): readonly string[] {
  const source = parseSource(file);
  return [...nodesOf(source)].flatMap((node) => {
    const name = declaredName(node);
    if (name === undefined || GIVEN.has(name.text) || (TEMPLATES.test(file.path) && HELPER.test(name.text))) return [];
    const fault = faultOf(name.text, node);
    return fault === undefined ? [] : [`${placeOf(source, name.getStart())}: "${name.text}" ${fault}`];
  });
}

/** Parameters are exempt, as a leading underscore tells the compiler that one is unused. */
function declaredName(node: ts.Node): ts.Identifier | undefined {
  const declares =
    ts.isVariableDeclaration(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isMethodDeclaration(node) ||
    ts.isPropertyDeclaration(node);
  return declares && node.name && ts.isIdentifier(node.name) ? node.name : undefined;
}

function faultOf(name: string, node: ts.Node): string | undefined {
  if (EMPTY_WORD.test(name)) return 'ends in a word without meaning; name it after what it does';
  // A bare underscore is allowed for a value that is only held until the end of its block.
  if (name.startsWith('_') && name !== '_') return 'begins with an underscore; use #private, or remove it';
  if (ts.isInterfaceDeclaration(node) && /^I[A-Z][a-z]/.test(name)) return 'says that it is an interface; remove the I';
  return undefined;
}
