import ts from 'typescript';
import { readFiles, type SourceFile } from '../checks/support/files.ts';
import { parseSource, placeOf } from '../checks/support/source.ts';

/** A ref that a contract exports: `export const x = define…<Type>('id', …)`. */
export interface ContractRef {
  /** The part after `define`: `Action`, `ExtensionPoint`, `Slot`. */
  readonly kind: string;
  readonly id: string;
  /** The name of the export. */
  readonly name: string;
  /** The module to import it from. */
  readonly from: string;
  /** The id of the owning plugin; `kernel` for the kernel's own. */
  readonly owner: string;
  /** Its type argument as written; empty if there is none. */
  readonly type: string;
  /** The sentence in its definition or else the first one of the comment above it; empty if there is neither. */
  readonly text: string;
  /** `path:line`. */
  readonly place: string;
}

/** Kinds whose definition has a sentence as the second argument. */
const WITH_SENTENCE = new Set(['ExtensionPoint', 'Slot']);

/** All refs in the contracts of the kernel and the plugins. */
export const contractRefs = (root: string): readonly ContractRef[] =>
  readFiles(
    root,
    ['core', 'plugins'],
    /^(core\/(?!cli\/templates\/).+|plugins\/[^/]+\/api|plugins\/ports\/[^/]+)\.ts$/,
  ).flatMap(refsOf);

/** Finds the ref with this kind and id. */
export const findRef = (refs: readonly ContractRef[], kind: string, id: string): ContractRef | undefined =>
  refs.find((ref) => ref.kind === kind && ref.id === id);

function refsOf(file: SourceFile): readonly ContractRef[] {
  const [, port] = /^plugins\/ports\/([^/]+)\.ts$/.exec(file.path) ?? [];
  const [, plugin] = port === undefined ? (/^plugins\/([^/]+)\//.exec(file.path) ?? []) : [];
  const source = parseSource(file);
  // A token and its interface share a name and a comment.
  const interfaces = new Map(
    source.statements.filter(ts.isInterfaceDeclaration).map((one) => [one.name.text, one] as const),
  );
  return source.statements.filter(ts.isVariableStatement).flatMap((statement) => {
    const definition = definitionOf(statement);
    if (!definition) return [];
    const { kind, id, sentence, ...named } = definition;
    return {
      kind,
      id,
      ...named,
      from: ['parley-forum', port && `ports/${port}`, plugin && `plugins/${plugin}`].filter(Boolean).join('/'),
      owner: plugin ?? port ?? 'kernel',
      text: WITH_SENTENCE.has(kind) ? textOf(sentence) : commentOf(statement) || commentOf(interfaces.get(id)),
      place: placeOf(source, statement.getStart()),
    };
  });
}

/** Parses `const name = define…<Type>('id', sentence)`; undefined for other statements. */
function definitionOf(
  statement: ts.VariableStatement,
): (Pick<ContractRef, 'kind' | 'id' | 'name' | 'type'> & { readonly sentence: ts.Expression | undefined }) | undefined {
  const [declaration] = statement.declarationList.declarations;
  const call = declaration?.initializer;
  if (!call || !ts.isCallExpression(call)) return undefined;
  const [, kind] = /^define([A-Z]\w*)$/.exec(call.expression.getText()) ?? [];
  const [id, sentence] = call.arguments;
  if (kind === undefined || !id || !ts.isStringLiteral(id)) return undefined;
  const type = call.typeArguments?.map((argument) => argument.getText().replaceAll(/\s+/g, ' ')).join(', ') ?? '';
  return { kind, id: id.text, name: declaration.name.getText(), type, sentence };
}

const textOf = (node: ts.Expression | undefined): string => (node && ts.isStringLiteralLike(node) ? node.text : '');

/** The first sentence of the comment above a declaration or a member; empty if there is none. */
export const commentOf = (node: ts.Node | undefined): string => firstSentence(wholeCommentOf(node));

/** The whole comment, on one line. */
export function wholeCommentOf(node: ts.Node | undefined): string {
  if (!node) return '';
  const last = ts.getJSDocCommentsAndTags(node).findLast((one) => ts.isJSDoc(one));
  return ((last && ts.getTextOfJSDocComment(last.comment)) ?? '').replaceAll(/\s+/g, ' ').trim();
}

/** The text up to the first punctuation mark that ends a sentence. */
const firstSentence = (line: string): string => /^.*?[.!?](?=\s|$)/.exec(line)?.[0] ?? line;
