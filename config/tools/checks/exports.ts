import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import ts from 'typescript';
import { wholeCommentOf } from '../reference/described.ts';
import type { Check } from './support/check.ts';
import { countLines, readFiles, type SourceFile } from './support/files.ts';
import { nodesOf, parseSource, placeOf } from './support/source.ts';

const DOOR = 'core/index.ts';
const PACKAGE = 'parley-forum';
/**
 * Maximum number of values that the package exports; docs/decisions/0015-exported-names.md explains why types do not
 * count.
 */
const MAX_VALUES = 70;
/** Folders whose imports justify an export: plugins, examples for learners, tests, and a site's configuration. */
const USERS = ['plugins', 'migrations', 'docs/examples', 'test/kit', 'config'];
const PARTS = { kernel: /^core\/(?!host\/|cli\/)/, host: /^core\/host\//, cli: /^core\/cli\/(?!templates\/)/ };

/** A name that the package exports. */
interface Export {
  readonly name: string;
  readonly isType: boolean;
  /** `path:line` of the export. */
  readonly place: string;
  /** Its declaration, and the re-exports in between. */
  readonly nodes: readonly ts.Node[];
}

/** The package's exports must be few, documented where they are defined, and imported somewhere. */
export const exported: Check = {
  name: 'exports',
  async run(root) {
    const names = exportsOf(root);
    const used = new Set([
      ...readFiles(root, USERS, /\.ts$/).flatMap(importsOf),
      ...names.flatMap(({ nodes }) => nodes.flatMap(resultsOf)),
    ]);
    const values = names.filter(({ isType }) => !isType).length;
    return [
      ...(values > MAX_VALUES ? [`${DOOR}: exports ${values} values, more than ${MAX_VALUES}; remove some`] : []),
      ...names
        .filter(({ nodes }) => !nodes.some((node) => wholeCommentOf(node) !== ''))
        .map(({ name, place }) => `${place}: ${name} has no sentence; write it as a comment where it is defined`),
      ...names
        .filter(({ name }) => !used.has(name))
        .map(({ name, place }) => `${place}: no plugin, example or test kit imports ${name}; do not export it`),
    ];
  },
  figures(root) {
    const names = exportsOf(root);
    const types = names.filter(({ isType }) => isType).length;
    const files = readFiles(root, ['core'], /\.ts$/);
    const lines = Object.entries(PARTS).map(([part, pattern]) => {
      const sum = files.filter(({ path }) => pattern.test(path)).reduce((all, { text }) => all + countLines(text), 0);
      return `${part} ${sum} lines`;
    });
    return `${[...lines, `${PACKAGE} exports ${names.length - types} values`].join(', ')} and ${types} types`;
  },
};

function exportsOf(root: string): readonly Export[] {
  const door = readSource(root, DOOR);
  return [...(door?.statements ?? [])].filter(ts.isExportDeclaration).flatMap((statement) => {
    const { exportClause: named, moduleSpecifier: from } = statement;
    if (!named || !ts.isNamedExports(named) || !from || !ts.isStringLiteral(from)) return [];
    return named.elements.map((element) => ({
      name: element.name.text,
      isType: statement.isTypeOnly || element.isTypeOnly,
      place: placeOf(door!, element.getStart()),
      nodes: declarationsOf(
        root,
        posix.join(posix.dirname(DOOR), from.text),
        (element.propertyName ?? element.name).text,
      ),
    }));
  });
}

/** The statements in a file that declare or re-export a name. */
const declarationsOf = (root: string, path: string, name: string): readonly ts.Node[] =>
  (readSource(root, path)?.statements ?? []).filter((statement) => {
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.some((one) => one.name.getText() === name);
    if (ts.isExportDeclaration(statement) && statement.exportClause && ts.isNamedExports(statement.exportClause))
      return statement.exportClause.elements.some((one) => one.name.text === name);
    return (statement as ts.Statement & { readonly name?: ts.Node }).name?.getText() === name;
  });

/** Types that the compiler writes into the declarations of plugins because functions that create refs return them. */
function resultsOf(node: ts.Node): readonly string[] {
  const makers = ts.isVariableStatement(node)
    ? node.declarationList.declarations.map(({ initializer }) => initializer)
    : [node];
  return makers.flatMap((maker) =>
    maker && (ts.isFunctionDeclaration(maker) || ts.isArrowFunction(maker)) && maker.type
      ? [...nodesOf(maker.type)].filter(ts.isIdentifier).map(({ text }) => text)
      : [],
  );
}

const importsOf = (file: SourceFile): readonly string[] =>
  parseSource(file)
    .statements.filter(ts.isImportDeclaration)
    .filter(({ moduleSpecifier }) => (moduleSpecifier as ts.StringLiteral).text === PACKAGE)
    .flatMap(({ importClause }) => {
      const named = importClause?.namedBindings;
      return named && ts.isNamedImports(named)
        ? named.elements.map(({ name, propertyName }) => (propertyName ?? name).text)
        : [];
    });

const readSource = (root: string, path: string): ts.SourceFile | undefined =>
  existsSync(join(root, path)) ? parseSource({ path, text: readFileSync(join(root, path), 'utf8') }) : undefined;
