import ts from 'typescript';
import type { Check } from './support/check.ts';
import { readFiles, type SourceFile } from './support/files.ts';
import { commentsOf, nodesOf, parseSource, placeOf } from './support/source.ts';

const PROMISE = /\b(TODO|FIXME|XXX|HACK)\b/;
const RUNNERS = new Set(['test', 'it', 'describe', 'suite', 'bench']);

/** Everything in the repository must be finished: no notes to oneself, no skipped or focused tests. */
export const finished: Check = {
  name: 'finished',
  async run(root) {
    return readFiles(
      root,
      ['core', 'plugins', 'themes', 'config', 'migrations', 'test', 'docs/examples'],
      /\.ts$/,
    ).flatMap((file) => [...promises(file), ...leftOut(file)]);
  },
};

function promises(file: SourceFile): readonly string[] {
  if (!PROMISE.test(file.text)) return [];
  const source = parseSource(file);
  return commentsOf(source)
    .filter(({ text }) => PROMISE.test(text))
    .map(({ text, at }) => `${placeOf(source, at)}: "${PROMISE.exec(text)?.[0]}" in a comment; do it or drop it`);
}

function leftOut(file: SourceFile): readonly string[] {
  if (!/\.(only|skip|todo)\b/.test(file.text)) return [];
  const source = parseSource(file);
  return [...nodesOf(source)].filter(ts.isPropertyAccessExpression).flatMap((node) => {
    const name = node.name.text;
    if (!['only', 'skip', 'todo'].includes(name) || !RUNNERS.has(rootOf(node.expression))) return [];
    return [
      `${placeOf(source, node.name.getStart())}: .${name} skips tests; remove it (use .skipIf(…) if a machine lacks something)`,
    ];
  });
}

/** The root of a chain: `test` for `test.concurrent.skip`. */
function rootOf(expression: ts.Expression): string {
  let at = expression;
  while (ts.isPropertyAccessExpression(at) || ts.isCallExpression(at)) at = at.expression;
  return ts.isIdentifier(at) ? at.text : '';
}
