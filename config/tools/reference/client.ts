import ts from 'typescript';
import { readFiles, type SourceFile } from '../checks/support/files.ts';
import { nodesOf, parseSource, placeOf } from '../checks/support/source.ts';
import { commentOf, wholeCommentOf } from './described.ts';
import { onOneLine, type Documented } from './members.ts';

const SHARED = 'plugins/web/client/client.ts';

/**
 * What is available to browser code: the exports of `@forum/client`, the elements that plugins define, and their
 * events.
 */
export interface ClientSide {
  readonly exports: readonly Documented[];
  /** `x-…` elements with their plugins. */
  readonly elements: ReadonlyArray<Documented & { readonly plugin: string }>;
  /** Events dispatched by plugins' scripts, with the plugin. */
  readonly events: ReadonlyArray<Documented & { readonly plugin: string }>;
}

export function clientSide(root: string): ClientSide {
  const files = readFiles(root, ['plugins'], /^plugins\/[^/]+\/client\/.*\.ts$/);
  return {
    exports: files.filter(({ path }) => path === SHARED).flatMap(exportsOf),
    elements: files.flatMap(elementsOf),
    events: files.flatMap(eventsOf),
  };
}

const pluginOf = (path: string): string => path.split('/')[1] ?? '';

function exportsOf(file: SourceFile): readonly Documented[] {
  const source = parseSource(file);
  return source.statements.flatMap((statement) => {
    if (!ts.canHaveModifiers(statement)) return [];
    if (!ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return [];
    const declared = ts.isVariableStatement(statement) ? statement.declarationList.declarations[0] : statement;
    const { name } = declared as ts.NamedDeclaration;
    if (!name) return [];
    return {
      name: name.getText(),
      signature: signatureOf(declared as ts.Declaration),
      text: wholeCommentOf(statement),
      place: placeOf(source, statement.getStart()),
    };
  });
}

/** The signature of a function, the type of a constant, or the names in an object of functions. */
function signatureOf(declared: ts.Declaration): string {
  const called = ts.isVariableDeclaration(declared) && declared.initializer ? declared.initializer : declared;
  if (ts.isFunctionLike(called)) {
    const generics = called.typeParameters?.map(onOneLine).join(', ');
    const result = called.type ? `: ${onOneLine(called.type)}` : '';
    return `${generics ? `<${generics}>` : ''}(${called.parameters.map(onOneLine).join(', ')})${result}`;
  }
  if (ts.isObjectLiteralExpression(called))
    return `{ ${called.properties.map(({ name }) => name?.getText()).join(', ')} }`;
  return ts.isVariableDeclaration(declared) && declared.type ? onOneLine(declared.type) : '';
}

function elementsOf(file: SourceFile): ClientSide['elements'] {
  const source = parseSource(file);
  return callsOf(source, 'define').flatMap(({ arguments: [tag, element] }) => {
    if (!tag || !ts.isStringLiteral(tag) || !element) return [];
    const made = source.statements.filter(ts.isClassDeclaration).find(({ name }) => name?.text === element.getText());
    const place = placeOf(source, tag.getStart());
    return { name: tag.text, signature: '', text: commentOf(made), place, plugin: pluginOf(file.path) };
  });
}

/** Finds `new CustomEvent(name)`; the comment above it says when the event is dispatched and what its `detail` is. */
function eventsOf(file: SourceFile): ClientSide['events'] {
  const source = parseSource(file);
  return [...nodesOf(source)]
    .filter(ts.isNewExpression)
    .filter(({ expression }) => expression.getText() === 'CustomEvent')
    .map((node) => {
      const [name] = node.arguments ?? [];
      const place = placeOf(source, node.getStart());
      return { name: nameOf(name), signature: '', text: commentAbove(node), place, plugin: pluginOf(file.path) };
    });
}

const nameOf = (name: ts.Expression | undefined): string =>
  !name ? '' : ts.isStringLiteral(name) ? name.text : name.getText().replaceAll(/`|\$(?=\{)/g, '');

/** The comment of the nearest enclosing statement or declaration that has one. */
function commentAbove(node: ts.Node): string {
  for (let at: ts.Node | undefined = node; at; at = at.parent) {
    const text = commentOf(at);
    if (text !== '') return text;
  }
  return '';
}

const callsOf = (source: ts.SourceFile, name: string): readonly ts.CallExpression[] =>
  [...nodesOf(source)].filter(ts.isCallExpression).filter(({ expression }) => expression.getText() === name);
