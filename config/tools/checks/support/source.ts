import ts from 'typescript';
import type { SourceFile } from './files.ts';

/** Cache by path, since several checks read the same files and parsing all of them takes seconds. */
const parsed = new Map<string, ts.SourceFile>();

/**
 * Parses a file into a syntax tree without types: for rules about names and calls, which strings and comments must not
 * fool.
 */
export function parseSource({ path, text }: SourceFile): ts.SourceFile {
  const known = parsed.get(path);
  if (known?.text === text) return known;
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  parsed.set(path, source);
  return source;
}

/** Yields `node` and every node below it, in source order. */
export function* nodesOf(node: ts.Node): Generator<ts.Node> {
  yield node;
  for (const child of node.getChildren()) yield* nodesOf(child);
}

/** All identifiers in a file, in source order, excluding those in comments. */
export function identifiersOf(source: ts.SourceFile): readonly (ts.Identifier | ts.PrivateIdentifier)[] {
  const found: (ts.Identifier | ts.PrivateIdentifier)[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) found.push(node);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** All comments in a file with their positions. */
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

/** `path:line`, which editors and terminals turn into links. */
export const placeOf = (source: ts.SourceFile, at: number): string =>
  `${source.fileName}:${source.getLineAndCharacterOfPosition(at).line + 1}`;
