import ts from 'typescript';

/** One line of the public interface: a declaration, or a member of one. */
export interface Entry {
  /** `PluginHandle` or `PluginHandle.extend`; unique in its module. */
  readonly name: string;
  /** As declared, on one line. */
  readonly text: string;
  readonly deprecated: boolean;
}

/** The exports of one module of the package. */
export interface Module {
  /**
   * The module's import specifier; the last module, for types that exported ones refer to but that are not exported
   * themselves, is called `(not exported)`.
   */
  readonly name: string;
  readonly version: string;
  readonly entries: readonly Entry[];
}

export const NOT_EXPORTED = '(not exported)';
/** The host, which the test kit exposes, is not part of the public interface. */
const OPAQUE = /^core\/host\//;

interface Declared {
  readonly file: string;
  readonly name: string;
}
type Statement =
  | ts.ClassDeclaration
  | ts.EnumDeclaration
  | ts.FunctionDeclaration
  | ts.InterfaceDeclaration
  | ts.TypeAliasDeclaration
  | ts.VariableStatement;

/** The relevant parts of a declaration file. */
interface Source {
  readonly text: ts.SourceFile;
  /** By name; a type and a value of the same name, or overloads, share an entry. */
  readonly declared: ReadonlyMap<string, readonly Statement[]>;
  /** Names imported from other files of the program. */
  readonly imported: ReadonlyMap<string, Declared>;
  /** Exported names, both declared here and re-exported. */
  readonly exported: ReadonlyMap<string, Declared>;
}

/**
 * The declarations exported by `entries` (the file of each module by name), followed by all other declarations they
 * refer to. `read` returns the text of a declaration file by its path in the repository, without an extension;
 * undefined if there is none.
 */
export function surfaceOf(
  entries: ReadonlyMap<string, { readonly file: string; readonly version: string }>,
  read: (file: string) => string | undefined,
): readonly Module[] {
  const sources = new Map<string, Source | undefined>();
  const sourceOf = (file: string): Source | undefined => {
    if (!sources.has(file)) {
      const text = read(file);
      sources.set(file, text === undefined ? undefined : parse(file, text));
    }
    return sources.get(file);
  };
  /** Follows re-exports of a name to the file that declares it. */
  const find = ({ file, name }: Declared): Declared | undefined => {
    const source = sourceOf(file);
    if (!source) return undefined;
    if (source.declared.has(name)) return { file, name };
    const further = source.exported.get(name) ?? source.imported.get(name);
    return further && (further.file !== file || further.name !== name) ? find(further) : undefined;
  };
  const seen = new Set<string>();
  const queue: Declared[] = [];
  const modules = [...entries].map(([name, { file, version }]): Module => {
    const found = [...(sourceOf(file)?.exported ?? [])].flatMap(([exported, from]) => {
      const at = find(from);
      if (!at) return [];
      seen.add(keyOf(at));
      queue.push(at);
      return entriesOf(sourceOf(at.file)!, at.name, exported);
    });
    return { name, version, entries: found.toSorted(byName) };
  });
  const inner: Entry[] = [];
  for (let at = queue.shift(); at; at = queue.shift()) {
    for (const reference of referencesOf(sourceOf(at.file)!, at)) {
      const to = find(reference);
      if (!to || seen.has(keyOf(to)) || OPAQUE.test(to.file)) continue;
      seen.add(keyOf(to));
      queue.push(to);
      inner.push(...entriesOf(sourceOf(to.file)!, to.name, `${to.file}#${to.name}`));
    }
  }
  return [...modules, { name: NOT_EXPORTED, version: '', entries: inner.toSorted(byName) }];
}

const keyOf = ({ file, name }: Declared): string => `${file}#${name}`;
/** By code unit, so that the order is the same on every machine. */
const byName = (a: Entry, b: Entry): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

function parse(file: string, content: string): Source {
  const text = ts.createSourceFile(`${file}.d.ts`, content, ts.ScriptTarget.Latest, true);
  const declared = new Map<string, Statement[]>();
  const imported = new Map<string, Declared>();
  const exported = new Map<string, Declared>();
  const fileOf = (specifier: ts.Expression | undefined): string | undefined =>
    specifier && ts.isStringLiteral(specifier) ? resolve(file, specifier.text) : undefined;
  for (const statement of text.statements) {
    if (ts.isImportDeclaration(statement)) {
      const from = fileOf(statement.moduleSpecifier);
      if (from)
        for (const [own, name] of bindingsOf(statement.importClause?.namedBindings))
          imported.set(own, { file: from, name });
    } else if (ts.isExportDeclaration(statement)) {
      const from = fileOf(statement.moduleSpecifier) ?? file;
      for (const [own, name] of bindingsOf(statement.exportClause)) exported.set(own, { file: from, name });
    } else if (isDeclaration(statement)) {
      for (const name of namesOf(statement)) {
        declared.set(name, [...(declared.get(name) ?? []), statement]);
        if (isExported(statement)) exported.set(name, { file, name });
      }
    }
  }
  return { text, declared, imported, exported };
}

/** The names between the braces of an import or export, each with its name in the module it comes from. */
const bindingsOf = (
  named: ts.NamedImportBindings | ts.NamedExportBindings | undefined,
): readonly (readonly [own: string, name: string])[] =>
  named && (ts.isNamedImports(named) || ts.isNamedExports(named))
    ? [...named.elements].map(({ name, propertyName }) => [name.text, (propertyName ?? name).text])
    : [];

const isExported = (statement: Statement): boolean =>
  statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;

/**
 * Resolves a relative specifier to a path in the repository, and one of the package's modules to its file; undefined
 * for libraries.
 */
function resolve(file: string, specifier: string): string | undefined {
  if (specifier === 'parley-forum') return 'core/index';
  if (specifier === 'parley-forum/testing') return 'test/kit/index';
  const [, plugin] = /^parley-forum\/plugins\/([^/]+)$/.exec(specifier) ?? [];
  if (plugin !== undefined) return `plugins/${plugin}/api`;
  if (!specifier.startsWith('.')) return undefined;
  return new URL(specifier, `file:///${file}`).pathname.slice(1).replace(/(\.d)?\.[jt]s$/, '');
}

const isDeclaration = (node: ts.Statement): node is Statement =>
  ts.isClassDeclaration(node) ||
  ts.isEnumDeclaration(node) ||
  ts.isFunctionDeclaration(node) ||
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isVariableStatement(node);

const namesOf = (node: Statement): readonly string[] =>
  ts.isVariableStatement(node)
    ? node.declarationList.declarations.map(({ name }) => name.getText())
    : node.name
      ? [node.name.text]
      : [];

/** All declarations of the program that a declaration refers to. */
function referencesOf(source: Source, { file, name }: Declared): readonly Declared[] {
  const found: Declared[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument) && node.qualifier) {
      const from = resolve(file, (node.argument.literal as ts.StringLiteral).text);
      if (from) found.push({ file: from, name: node.qualifier.getText().split('.')[0]! });
    }
    if (ts.isIdentifier(node)) {
      const own = source.declared.has(node.text) ? { file, name: node.text } : source.imported.get(node.text);
      if (own) found.push(own);
    }
    ts.forEachChild(node, visit);
  };
  source.declared.get(name)?.forEach(visit);
  return found;
}

const printer = ts.createPrinter({ removeComments: true, omitTrailingSemicolon: true });

function entriesOf({ text, declared }: Source, name: string, as: string): readonly Entry[] {
  const print = (node: ts.Node): string =>
    printer
      .printNode(ts.EmitHint.Unspecified, node, text)
      .replaceAll(/import\("[^"]*"\)\./g, '')
      .replaceAll(/\s+/g, ' ')
      .replace(/;$/, '')
      .trim();
  const isDeprecated = (node: ts.Node): boolean => ts.getJSDocDeprecatedTag(node) !== undefined;
  /** The line of a declaration, and one for each of its members. */
  const lined = (node: Statement, words: string, members: readonly ts.Node[] = []): readonly Entry[] => [
    { name: as, text: words, deprecated: isDeprecated(node) },
    ...members.filter(isPublic).map((member) => {
      const line = print(member).replace(/^readonly /, '');
      return { name: `${as}.${memberName(line)}`, text: line, deprecated: isDeprecated(node) || isDeprecated(member) };
    }),
  ];
  const ofShape = (node: ts.ClassDeclaration | ts.InterfaceDeclaration): readonly Entry[] => {
    const kind = ts.isClassDeclaration(node) ? 'class' : 'interface';
    const generics = node.typeParameters ? `<${node.typeParameters.map(print).join(', ')}>` : '';
    const above = node.heritageClauses?.map((clause) => ` ${print(clause)}`).join('') ?? '';
    return lined(node, `${kind}${generics}${above}`, [...node.members]);
  };
  const ofVariable = (node: ts.VariableStatement): readonly Entry[] => {
    const type = node.declarationList.declarations.find((one) => one.name.getText() === name)?.type;
    if (!type) return lined(node, 'const any');
    const [inner] = ts.isTypeReferenceNode(type) ? (type.typeArguments ?? []) : [type];
    if (!inner || !ts.isTypeLiteralNode(inner)) return lined(node, `const ${print(type)}`);
    // An object or an object schema: adding a field does not change the other lines.
    const of = ts.isTypeReferenceNode(type) ? print(type.typeName) : 'object';
    return lined(node, `const ${of}`, [...inner.members]);
  };
  const lines = (declared.get(name) ?? []).flatMap((node) => {
    if (ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node)) return ofShape(node);
    if (ts.isVariableStatement(node)) return ofVariable(node);
    const words = print(node).replace(/^(export )?(declare )?/, '');
    return lined(node, words.replace(new RegExp(`^(\\w+ )${name}\\b ?`), '$1'));
  });
  // Overloads, and a type and a value of the same name, are one entry.
  return [...Map.groupBy(lines, (line) => line.name)].map(([key, same]) => ({
    name: key,
    text: [...new Set(same.map((line) => line.text))].join(' & '),
    deprecated: same.every((line) => line.deprecated),
  }));
}

const isPublic = (member: ts.Node): boolean =>
  !(ts.isPropertyDeclaration(member) && ts.isPrivateIdentifier(member.name)) &&
  !(ts.canHaveModifiers(member) && ts.getModifiers(member)?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword));

/** The name of a member, from its text: `()` for a call signature, `[…]` for an index signature. */
export function memberName(text: string): string {
  const [, name] = /^(?:(?:static|get|set|abstract) )*([\w$'-]+)/.exec(text) ?? [];
  return name ?? (text.startsWith('[') ? text.slice(0, text.indexOf(']') + 1) : '()');
}
