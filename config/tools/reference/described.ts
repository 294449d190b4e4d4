import ts from 'typescript';
import { readFiles } from '../checks/support/files.ts';
import { nodesOf, parseSource } from '../checks/support/source.ts';

/** What a contract says of one of its refs: the name it is imported by and the comment above it. */
export interface Description {
  readonly name: string;
  /** Module to import it from. */
  readonly from: string;
  /** First sentence of the comment; empty where there is none. */
  readonly text: string;
}

/** Every `export const x = define…('id')` of the contracts, by id. */
export function describedRefs(root: string): ReadonlyMap<string, Description> {
  const found = new Map<string, Description>();
  for (const file of readFiles(root, ['core', 'plugins'], /^(core\/[^/]+|plugins\/[^/]+\/api)\.ts$/)) {
    const from = file.path.startsWith('core/') ? 'parley-forum' : `parley-forum/plugins/${file.path.split('/')[1]}`;
    for (const node of nodesOf(parseSource(file))) {
      if (!ts.isVariableStatement(node)) continue;
      const declaration = node.declarationList.declarations[0];
      const id = declaration?.initializer && idOf(declaration.initializer);
      if (id !== undefined && declaration)
        found.set(id, { name: declaration.name.getText(), from, text: commentOf(node) });
    }
  }
  return found;
}

function idOf(initializer: ts.Expression): string | undefined {
  if (!ts.isCallExpression(initializer) || !/^define[A-Z]/.test(initializer.expression.getText())) return undefined;
  const [first] = initializer.arguments;
  return first && ts.isStringLiteral(first) ? first.text : undefined;
}

function commentOf(node: ts.Node): string {
  const last = ts.getJSDocCommentsAndTags(node).at(-1);
  const text = (last && ts.isJSDoc(last) && ts.getTextOfJSDocComment(last.comment)) || '';
  return firstSentence(text);
}

/** Up to the first full stop that ends a sentence, on one line. */
export function firstSentence(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return /^.*?[.!?](?=\s|$)/.exec(line)?.[0] ?? line;
}
