import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import semver from 'semver';
import ts from 'typescript';
import type { Check } from './support/check.ts';
import { countLines, pluginFolders, readFiles, type SourceFile } from './support/files.ts';
import { nodesOf, parseSource, placeOf } from './support/source.ts';

/** Maximum lines of a README, so that it fits on one screen. */
const SCREEN = 60;

/** The modules that plugins may import from each other. */
const CONTRACT = /^plugins\/(?:[^/]+\/api|ports\/[^/]+)\.ts$/;

/**
 * Every plugin must have the files that readers expect, under the expected names, and its contract must not expose
 * internals.
 */
export const plugins: Check = {
  name: 'plugin folders',
  async run(root) {
    return [
      ...pluginFolders(root).flatMap((id) => faults(root, id)),
      ...readFiles(root, ['plugins'], CONTRACT).flatMap(givenAway),
    ];
  },
};

function faults(root: string, id: string): readonly string[] {
  const folder = join(root, 'plugins', id);
  const at = `plugins/${id}`;
  const found: string[] = [];
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(id)) found.push(`${at}: the folder's name is not kebab-case; rename it`);
  if (!existsSync(join(folder, 'plugin.ts'))) found.push(`${at}: has no plugin.ts; write one, or delete the folder`);
  else found.push(...ofDefinition(at, id, readFileSync(join(folder, 'plugin.ts'), 'utf8')));
  if (!existsSync(join(folder, 'README.md')))
    found.push(`${at}: has no README.md; describe what it adds, its hooks and its settings`);
  else {
    const lines = countLines(readFileSync(join(folder, 'README.md'), 'utf8'));
    if (lines > SCREEN)
      found.push(`${at}/README.md: ${lines} lines, more than a screen of ${SCREEN}; move the rest to docs/guide`);
  }
  if (readFiles(root, [`test/plugins/${id}`], /\.test\.ts$/).length === 0)
    found.push(`test/plugins/${id}: has no *.test.ts; every plugin must have tests`);
  return found;
}

/** Reports contracts that expose a plugin's handle, or SQL whose result type is unknown. */
function givenAway(file: SourceFile): readonly string[] {
  const source = parseSource(file);
  return [...nodesOf(source)].filter(ts.isTypeReferenceNode).flatMap((node) => {
    const place = placeOf(source, node.getStart());
    const type = node.typeName.getText();
    if (type === 'PluginHandle')
      return [`${place}: has a plugin's handle in its contract; offer functions that use it instead`];
    const rows = node.typeArguments?.[0];
    return type === 'RawBuilder' && (rows === undefined || rows.getText() === 'unknown' || rows.getText() === 'any')
      ? [
          `${place}: has SQL with untyped rows in its contract; declare what it selects: RawBuilder<{ readonly poll_id: string }>`,
        ]
      : [];
  });
}

function ofDefinition(at: string, folder: string, text: string): readonly string[] {
  const call = [...nodesOf(parseSource({ path: `${at}/plugin.ts`, text }))]
    .filter(ts.isCallExpression)
    .find((node) => node.expression.getText() === 'definePlugin');
  const definition = call?.arguments[0];
  const written = (name: string): string | undefined => {
    if (!definition || !ts.isObjectLiteralExpression(definition)) return undefined;
    const property = definition.properties.filter(ts.isPropertyAssignment).find((one) => one.name.getText() === name);
    return property && ts.isStringLiteral(property.initializer) ? property.initializer.text : undefined;
  };
  const id = written('id');
  if (id === undefined) return [`${at}/plugin.ts: has no definePlugin({ id: '…' }) with a literal id`];
  const misnamed = id === folder ? [] : [`${at}/plugin.ts: has the id "${id}"; id and folder must be the same`];
  return semver.valid(written('version') ?? '') !== null
    ? misnamed
    : [
        ...misnamed,
        `${at}/plugin.ts: has no literal version: '1.0.0' of its contract; other plugins declare ranges of it`,
      ];
}
