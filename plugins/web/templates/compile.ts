import { SafeHtml } from '../api.ts';
import type { Helpers } from './helpers.ts';

/** Data that every template of a page can read besides its model, as `@name`. */
type PageData = object;
/** The position in the innermost loop. */
interface LoopPosition {
  readonly index: number;
  readonly key: unknown;
  readonly first: boolean;
  readonly last: boolean;
}
/** A compiled template: returns HTML for a model. */
export type Template = (model: unknown, page: PageData) => string;
/** A compiled template as other templates include it. */
export interface Partial {
  /** `root`: the model of the outermost template. */
  readonly render: (context: unknown, page: PageData, loop: LoopPosition | undefined, root: unknown) => string;
  /** Whether it, or a template that it includes, reads page data that belongs to one viewer. */
  readonly personal: boolean;
}

/** The JavaScript variables that are visible at a place in the template. */
interface Scope {
  /** The innermost context last. */
  readonly contexts: readonly string[];
  readonly loop: string;
  readonly blockParams: ReadonlyMap<string, string>;
}
type Call = hbs.AST.MustacheStatement | hbs.AST.BlockStatement | hbs.AST.SubExpression;

type Neighbours = readonly [hbs.AST.Statement | undefined, hbs.AST.Statement | undefined];

/** Page data that is the same for all viewers with the same rights. */
const SHARED_DATA: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['viewer', new Set(['level', 'guest', 'member', 'staff', 'admin'])],
  ['page', new Set(['name', 'title', 'path', 'returnTo', 'feeds'])],
]);
const ALL_SHARED = new Set(['site', 'preferences']);

const LOOP_VALUES = new Set(['index', 'key', 'first', 'last']);
/** For helpers that are called without `name=value` pairs. */
const NO_OPTIONS = Object.freeze({ hash: Object.freeze({}) });
/** Blocks that are compiled to JavaScript statements; all others call their helper. */
const BUILT_IN_BLOCKS = new Set(['if', 'unless', 'each', 'with']);

/** A compiled template that is not yet linked to helpers and partials, so that every theme can reuse it. */
export interface TemplateCode {
  /**
   * Names of the helpers that it calls and of the templates that it includes, in the order in which `build` expects
   * them.
   */
  readonly helpers: readonly string[];
  readonly partials: readonly string[];
  /** Whether it reads page data that belongs to one viewer, apart from the templates that it includes. */
  readonly personal: boolean;
  readonly build: (...tools: readonly unknown[]) => Partial['render'];
}

/**
 * Compiles a template that was checked by `validateTemplate` into one JavaScript function: static text becomes a
 * literal and a loop a loop. Text of the template is always embedded as JSON, so it is data and never code. Values are
 * looked up as in Handlebars: own properties only, and never functions.
 */
export function compileTemplate(program: hbs.AST.Program, known: ReadonlySet<string>): TemplateCode {
  const writer = new FunctionWriter(known, blankLines(program));
  const body = writer.program(program, { contexts: ['c'], loop: 'l', blockParams: new Map() });
  // The same parameters for every template, so that all generated functions have the same shape.
  // oxlint-disable-next-line no-new-func, typescript/no-implied-eval -- its text is FunctionWriter's own
  const build = new Function(
    'get',
    'print',
    'line',
    'holds',
    'items',
    'none',
    'extend',
    'helpers',
    'partials',
    `'use strict';
return (c, p, l, r) => { let o = ''; ${body} return o; };`,
  ) as TemplateCode['build'];
  return { build, helpers: writer.helpers, partials: writer.partials, personal: writer.personal };
}

/** Links a template to its helpers and partials. */
export function linkTemplate(
  { build, helpers, partials, personal }: TemplateCode,
  known: Helpers,
  partialOf: (name: string) => Partial,
): Partial {
  const called = helpers.map((name) => known[name]);
  const included = partials.map(partialOf);
  const renders = included.map(({ render }) => render);
  return {
    render: build(get, print, line, holds, items, NO_OPTIONS, extend, called, renders),
    personal: personal || included.some((partial) => partial.personal),
  };
}

/** Generates statements that append to the variable `o`. */
class FunctionWriter {
  readonly helpers: string[] = [];
  readonly partials: string[] = [];
  personal = false;
  readonly #known: ReadonlySet<string>;
  readonly #blankLines: RegExp;
  #variables = 0;

  constructor(known: ReadonlySet<string>, blankLines: RegExp) {
    this.#known = known;
    this.#blankLines = blankLines;
  }

  program(program: hbs.AST.Program | undefined, scope: Scope): string {
    const nodes = program?.body ?? [];
    return nodes.map((node, at) => this.#statement(node, [nodes[at - 1], nodes[at + 1]], scope)).join('\n');
  }

  #statement(node: hbs.AST.Statement, [before, after]: Neighbours, scope: Scope): string {
    switch (node.type) {
      case 'ContentStatement': {
        const { value } = node as hbs.AST.ContentStatement;
        const text = (before && ownsLine(before, node) ? value.slice(1) : value).replace(this.#blankLines, '\n');
        return text === '' ? '' : `o += ${JSON.stringify(text)};`;
      }
      case 'MustacheStatement': {
        const value = `print(${this.#call(node as hbs.AST.MustacheStatement, scope)})`;
        return after && ownsLine(node, after) ? `o += line(${value});` : `o += ${value};`;
      }
      case 'BlockStatement':
        return this.#block(node as hbs.AST.BlockStatement, scope);
      case 'PartialStatement':
        return this.#partial(node as hbs.AST.PartialStatement, scope);
      default:
        return '';
    }
  }

  /** A helper call if the name is a helper's, else a value of the context. */
  #call(node: Call, scope: Scope): string {
    const path = node.path as hbs.AST.PathExpression;
    if (path.type !== 'PathExpression' || !this.#isHelper(path)) return this.#value(path, scope);
    if (path.original === 'lookup') return `get(${node.params.map((param) => this.#value(param, scope)).join()})`;
    return this.#helperCall(node, scope, this.#options(node, scope, ''));
  }

  #helperCall({ path, params }: Call, scope: Scope, options: string): string {
    const given = params.map((param) => `${this.#value(param, scope)}, `).join('');
    return `helpers[${this.#helper(String((path as hbs.AST.PathExpression).original))}].call(${scope.contexts.at(-1)}, ${given}${options})`;
  }

  #options({ hash }: Call, scope: Scope, functions: string): string {
    const pairs = hash?.pairs ?? [];
    if (pairs.length === 0 && functions === '') return 'none';
    return `{ hash: ${this.#object(pairs, scope)}${functions} }`;
  }

  #object(pairs: readonly hbs.AST.HashPair[], scope: Scope): string {
    return `{ ${pairs.map(({ key, value }) => `[${JSON.stringify(key)}]: ${this.#value(value, scope)}`).join()} }`;
  }

  #isHelper({ original, data, depth }: hbs.AST.PathExpression): boolean {
    return !data && depth === 0 && (original === 'lookup' || this.#known.has(original));
  }

  #helper(name: string): number {
    const at = this.helpers.indexOf(name);
    return at === -1 ? this.helpers.push(name) - 1 : at;
  }

  #value(node: hbs.AST.Expression, scope: Scope): string {
    switch (node.type) {
      case 'PathExpression':
        return this.#path(node as hbs.AST.PathExpression, scope);
      case 'SubExpression':
        return this.#call(node as hbs.AST.SubExpression, scope);
      case 'StringLiteral':
      case 'NumberLiteral':
      case 'BooleanLiteral':
        return JSON.stringify((node as hbs.AST.StringLiteral).value);
      default:
        return node.type === 'NullLiteral' ? 'null' : 'undefined';
    }
  }

  #path({ data, depth, parts, original }: hbs.AST.PathExpression, scope: Scope): string {
    const [head = '', ...rest] = parts as readonly string[];
    const follow = (base: string, names: readonly string[]): string =>
      names.reduce((object, name) => `get(${object}, ${JSON.stringify(name)})`, base);
    if (data) {
      if (LOOP_VALUES.has(head)) return `${scope.loop}?.${head}`;
      if (head === 'root') return follow('r', rest);
      this.personal ||= !(SHARED_DATA.get(head)?.has(rest[0] ?? '') ?? ALL_SHARED.has(head));
      return follow('p', [head, ...rest]);
    }
    const param = depth === 0 && !/^(\.|this\b)/.test(original) ? scope.blockParams.get(head) : undefined;
    if (param !== undefined) return follow(param, rest);
    return follow(scope.contexts.at(-1 - depth) ?? 'undefined', parts as readonly string[]);
  }

  #block(node: hbs.AST.BlockStatement, scope: Scope): string {
    const name = String((node.path as hbs.AST.PathExpression).original);
    if (!BUILT_IN_BLOCKS.has(name)) return this.#blockHelper(node, scope);
    const value = this.#value(node.params[0]!, scope);
    const otherwise = this.program(node.inverse, scope);
    if (name === 'each') return this.#each(node, value, otherwise, scope);
    if (name === 'with') {
      const own = `c${++this.#variables}`;
      const blockParams = this.#blockParams(node, [own], scope);
      const body = this.program(node.program, { ...scope, contexts: [...scope.contexts, own], blockParams });
      return `{ const ${own} = ${value}; if (holds(${own}) || ${own} === 0) { ${body} } else { ${otherwise} } }`;
    }
    const body = this.program(node.program, scope);
    return `if (${name === 'unless' ? '!' : ''}holds(${value})) { ${body} } else { ${otherwise} }`;
  }

  #each(node: hbs.AST.BlockStatement, value: string, otherwise: string, scope: Scope): string {
    const at = ++this.#variables;
    const [list, index, own, loop] = [`a${at}`, `i${at}`, `c${at}`, `l${at}`];
    const blockParams = this.#blockParams(node, [own, `${loop}.key`], scope);
    const body = this.program(node.program, { contexts: [...scope.contexts, own], loop, blockParams });
    return `{ const ${list} = items(${value}), n${at} = ${list}.values.length;
if (n${at} === 0) { ${otherwise} }
for (let ${index} = 0; ${index} < n${at}; ${index}++) {
const ${own} = ${list}.values[${index}];
const ${loop} = { index: ${index}, key: ${list}.keys ? ${list}.keys[${index}] : ${index}, first: ${index} === 0, last: ${index} === n${at} - 1 };
${body} } }`;
  }

  #blockParams({ program }: hbs.AST.BlockStatement, variables: readonly string[], scope: Scope): Scope['blockParams'] {
    const names = program?.blockParams ?? [];
    return new Map([...scope.blockParams, ...names.map((name, at) => [name, variables[at] ?? 'undefined'] as const)]);
  }

  #blockHelper(node: hbs.AST.BlockStatement, scope: Scope): string {
    const body = `, fn: () => { let o = ''; ${this.program(node.program, scope)} return o; }`;
    return `o += print(${this.#helperCall(node, scope, this.#options(node, scope, body))});`;
  }

  #partial(node: hbs.AST.PartialStatement, scope: Scope): string {
    const at = this.partials.push(String((node.name as hbs.AST.PathExpression).original)) - 1;
    const [given] = node.params;
    const context = given ? this.#value(given, scope) : scope.contexts.at(-1);
    const pairs = node.hash?.pairs ?? [];
    const own = pairs.length === 0 ? context : `extend(${context}, ${this.#object(pairs, scope)})`;
    return `o += partials[${at}](${own}, p, ${scope.loop}, r);`;
  }
}

// Templates are formatted for people; blank lines are not worth sending.

/**
 * Matches blank lines in a template's text; if the template has elements in which whitespace matters, only those before
 * an element.
 */
const blankLines = (program: hbs.AST.Program): RegExp => {
  const kept = program.body.some(
    (node) => node.type === 'ContentStatement' && /<(?:textarea|pre)/.test((node as hbs.AST.ContentStatement).value),
  );
  return kept ? /\n(?:[ \t]*\n)+(?=<)/g : /\n\s*\n/g;
};

/** Whether an expression is alone on its line: if it prints nothing, the line is dropped too. */
const ownsLine = (node: hbs.AST.Statement, next: hbs.AST.Statement): boolean =>
  node.type === 'MustacheStatement' &&
  next.type === 'ContentStatement' &&
  (next as hbs.AST.ContentStatement).value.startsWith('\n') &&
  node.loc.start.column === 0;
const line = (text: string): string => (text === '' ? '' : `${text}\n`);

/** An own property that is not a function; undefined for everything else. */
function get(object: unknown, name: string): unknown {
  if (object === undefined || object === null) return undefined;
  const value = (object as Readonly<Record<string, unknown>>)[name];
  if (value === undefined || value === null) return value;
  return typeof value !== 'function' && Object.hasOwn(object, name) ? value : undefined;
}

/** Whether `#if` takes its first branch; an empty list is falsy. */
const holds = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value));

const NOTHING = { values: [], keys: undefined } as const;
/** The items that `#each` iterates over; without keys, the index is used. */
function items(value: unknown): { readonly values: readonly unknown[]; readonly keys: readonly unknown[] | undefined } {
  if (Array.isArray(value)) return { values: value, keys: undefined };
  if (typeof value !== 'object' || value === null) return NOTHING;
  if (value instanceof Map) return { values: [...value.values()], keys: [...value.keys()] };
  if (Symbol.iterator in value) return { values: [...(value as Iterable<unknown>)], keys: undefined };
  return { values: Object.values(value), keys: Object.keys(value) };
}

const extend = (context: unknown, own: object): object => ({ ...(context as object), ...own });

// Attribute values are always quoted: the template check enforces it.
const UNSAFE = /[&<>"']/;
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escape = (text: string): string =>
  UNSAFE.test(text) ? text.replace(/[&<>"']/g, (character) => ENTITIES[character]!) : text;

/** Escapes a value as HTML text; absent values print nothing. */
function print(value: unknown): string {
  if (typeof value === 'string') return escape(value);
  if (value === undefined || value === null) return '';
  return value instanceof SafeHtml ? value.toString() : escape(String(value));
}
