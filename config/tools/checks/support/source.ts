import ts from 'typescript';
import type { SourceFile } from './files.ts';

/** By path, since several checks look at the same files and parsing all of them takes seconds. */
const parsed = new Map<string, ts.SourceFile>();

/**
 * A file as a syntax tree, without types: what rules about names and calls look at, so that strings and comments do not
 * fool them.
 */
export function parseSource({ path, text }: SourceFile): ts.SourceFile {
  const known = parsed.get(path);
  if (known?.text === text) return known;
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  parsed.set(path, source);
  return source;
}

/** Every node below `node`, itself included, in the order of the text. */
export function* nodesOf(node: ts.Node): Generator<ts.Node> {
  yield node;
  for (const child of node.getChildren()) yield* nodesOf(child);
}

/** Every name in a file, in the order of the text; those in comments are left out. */
export function identifiersOf(source: ts.SourceFile): readonly (ts.Identifier | ts.PrivateIdentifier)[] {
  const found: (ts.Identifier | ts.PrivateIdentifier)[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) found.push(node);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Each comment of a file with its position. */
export function commentsOf(source: ts.SourceFile): readonly { readonly text: string; readonly at: number }[] {
  const found = new Map<number, string>();
  for (const node of nodesOf(source)) {
    if (node.getChildCount() > 0) continue;
    for (const range of ts.getLeadingCommentRanges(source.text, node.getFullStart()) ?? [])
      found.set(range.pos, source.text.slice(range.pos, range.end));
    for (const range of ts.getTrailingCommentRanges(source.text, node.end) ?? [])
      found.set(range.pos, source.text.slice(range.pos, range.end));
  }
  return [...found].map(([at, text]) => ({ at, text }));
}

/** `path:line`, as editors and terminals make links of. */
export const placeOf = (source: ts.SourceFile, at: number): string =>
  `${source.fileName}:${source.getLineAndCharacterOfPosition(at).line + 1}`;
