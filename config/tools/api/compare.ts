import ts from 'typescript';
import { isMember } from './report.ts';
import { NOT_EXPORTED, type Entry, type Module } from './surface.ts';

/** A difference that may break plugins built against the earlier report. */
export interface Break {
  readonly module: string;
  /** The affected declaration, by the name that plugin authors know. */
  readonly declaration: string;
  readonly what: string;
  /** Whether it was marked as deprecated before its removal. */
  readonly announced: boolean;
}

/** Types whose objects only the program creates, so that a new member breaks nobody. */
const MADE_HERE = /^(core\/plugins\/definition#)?PluginHandle$/;

/**
 * A removed or changed line is a break, unless a function merely gains an optional parameter. A new line is an
 * addition, unless others may have to implement it: a member of an interface that is neither optional nor in a type
 * whose objects the program creates (the interface of a service, a class, a schema, the handle).
 */
export function breaksBetween(earlier: readonly Module[], later: readonly Module[]): readonly Break[] {
  return later
    .flatMap((now) => {
      const before = earlier.find(({ name }) => name === now.name);
      return before ? inModule(before, now) : [];
    })
    .concat(
      earlier
        .filter(({ name }) => name !== NOT_EXPORTED && !later.some((module) => module.name === name))
        .map(({ name }) => ({ module: name, declaration: name, what: 'no longer exists', announced: false })),
    );
}

function inModule({ name: module, entries: before }: Module, { entries: after }: Module): readonly Break[] {
  const old = new Map(before.map((entry) => [entry.name, entry]));
  const now = new Map(after.map((entry) => [entry.name, entry]));
  const left = [...old.values()].flatMap((entry): Break[] => {
    const declaration = declarationOf(entry.name);
    const found = now.get(entry.name);
    // Already reported for its declaration; declarations that are not exported may be removed as long as no exported
    // one changes.
    if (!found && (isMember(entry.name) ? !now.has(ownerOf(entry.name)) : module === NOT_EXPORTED)) return [];
    if (!found) return [{ module, declaration, what: `removes ${shown(entry)}`, announced: entry.deprecated }];
    if (found.text === entry.text || takesMore(entry.text, found.text)) return [];
    return [{ module, declaration, what: `changes ${shown(entry)} to "${found.text}"`, announced: false }];
  });
  const added = [...now.values()]
    .filter(({ name, text }) => !old.has(name) && isMember(name) && isRequired(text))
    .filter(({ name }) => old.has(ownerOf(name)) && othersWrite(ownerOf(name), now))
    .map((entry) => ({
      module,
      declaration: declarationOf(entry.name),
      what: `requires ${shown(entry)}`,
      announced: false,
    }));
  return [...left, ...added];
}

const ownerOf = (name: string): string => {
  const at = name.indexOf('.', name.indexOf('#') + 1);
  return at < 0 ? name : name.slice(0, at);
};
const declarationOf = (name: string): string => ownerOf(name).replace(/^.*#/, '');
const shown = ({ name, text }: Entry): string => `${declarationOf(name)}${isMember(name) ? ` { ${text} }` : ''}`;

const isRequired = (text: string): boolean => !/^[\w$'-]+\?/.test(text);

function othersWrite(owner: string, now: ReadonlyMap<string, Entry>): boolean {
  const { text = '' } = now.get(owner) ?? {};
  return text.startsWith('interface') && !/& const .*Token</.test(text) && !MADE_HERE.test(owner);
}

/** Whether the later text is the same function with additional optional parameters. */
function takesMore(earlier: string, later: string): boolean {
  const [before, after] = [signatureOf(earlier), signatureOf(later)];
  if (!before || !after || before.around !== after.around) return false;
  const further = after.parameters.slice(before.parameters.length);
  return (
    before.parameters.every(({ text }, index) => text === after.parameters[index]?.text) &&
    further.every(({ optional }) => optional)
  );
}

interface Signature {
  readonly parameters: ReadonlyArray<{ readonly text: string; readonly optional: boolean }>;
  /** The text before and after the parameters. */
  readonly around: string;
}

/** Parses the signature of an entry that is a method, a function, or a constant of a function type. */
function signatureOf(text: string): Signature | undefined {
  const declared = /^(const|function) /.test(text)
    ? text.replace(/^const /, 'type T = ').replace(/^function /, 'function f')
    : `interface I { ${text} }`;
  const source = ts.createSourceFile('entry.ts', declared, ts.ScriptTarget.Latest, true);
  const [statement] = source.statements;
  const found =
    statement && ts.isInterfaceDeclaration(statement)
      ? statement.members[0]
      : statement && ts.isTypeAliasDeclaration(statement)
        ? statement.type
        : statement;
  if (!found || !ts.isFunctionLike(found)) return undefined;
  const { parameters } = found;
  return {
    parameters: parameters.map((one) => ({
      text: one.getText(),
      optional: one.questionToken !== undefined || one.dotDotDotToken !== undefined,
    })),
    around: `${declared.slice(0, parameters.pos)}|${declared.slice(parameters.end)}`,
  };
}
