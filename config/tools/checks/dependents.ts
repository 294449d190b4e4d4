import ts from 'typescript';
import type { Check } from './support/check.ts';
import { pluginFolders, readFiles, type SourceFile } from './support/files.ts';
import { PLATFORM } from './support/platform.ts';
import { nodesOf, parseSource } from './support/source.ts';

/** Plugins that use no service of another plugin but are useless without it. */
const BUILT_ON: Readonly<Record<string, readonly string[]>> = {
  demo: ['installer'],
  live: ['discussions'],
  moderation: ['reports'],
  'pro-feeds': ['feeds'],
  push: ['notifications'],
  webhooks: ['discussions'],
};

const CONTRACT = /^parley-forum\/plugins\/([^/]+)$/;

/**
 * A plugin may import values only from plugins that it needs: for plugins it merely listens to or wants, they belong in
 * a port, so that the plugin still runs when the other's folder is deleted.
 */
export const dependents: Check = {
  name: 'dependents',
  async run(root) {
    return pluginFolders(root).flatMap((id) => {
      const imports = importsOfContracts(root, id);
      const needed = new Set(readFiles(root, [`plugins/${id}`], /\/plugin\.ts$/).flatMap(neededTokens));
      const allowed = new Set([
        id,
        ...PLATFORM,
        ...(BUILT_ON[id] ?? []),
        ...imports.filter(({ name }) => needed.has(name)).map(({ plugin }) => plugin),
      ]);
      return imports
        .filter(({ plugin }) => !allowed.has(plugin))
        .map(
          ({ plugin, name, path }) =>
            `${path}: imports ${name} of "${plugin}", but "${id}" needs none of its services; move it to plugins/ports/`,
        );
    });
  },
};

interface Import {
  readonly path: string;
  readonly plugin: string;
  readonly name: string;
}

/** The values that a plugin imports from other plugins' contracts. */
export const importsOfContracts = (root: string, id: string): readonly Import[] =>
  readFiles(root, [`plugins/${id}`], /^(?!.*\/client\/).*\.ts$/).flatMap(importsOf);

const importsOf = (file: SourceFile): readonly Import[] =>
  parseSource(file)
    .statements.filter(ts.isImportDeclaration)
    .flatMap(({ moduleSpecifier, importClause }) => {
      const [, plugin] = CONTRACT.exec((moduleSpecifier as ts.StringLiteral).text) ?? [];
      const bindings = importClause?.namedBindings;
      if (
        plugin === undefined ||
        importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword ||
        !bindings ||
        !ts.isNamedImports(bindings)
      )
        return [];
      return bindings.elements
        .filter(({ isTypeOnly }) => !isTypeOnly)
        .map(({ name }) => ({ path: file.path, plugin, name: name.text }));
    });

/** The names of the tokens under `needs` in a plugin definition. */
function neededTokens(file: SourceFile): readonly string[] {
  const needs = [...nodesOf(parseSource(file))]
    .filter(ts.isPropertyAssignment)
    .find((property) => property.name.getText() === 'needs');
  return needs && ts.isObjectLiteralExpression(needs.initializer)
    ? needs.initializer.properties.filter(ts.isPropertyAssignment).map(({ initializer }) => initializer.getText())
    : [];
}
