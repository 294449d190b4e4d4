import Handlebars from 'handlebars';
import { didYouMean, messageOf } from 'parley-forum';
import { htmlPositions, type HtmlPosition } from './html-positions.ts';

/** A problem in a template, with file and line, for its author. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
  constructor(file: string, line: number, message: string, options?: ErrorOptions) {
    super(`${file}:${line}: ${message}`, options);
  }
}

export interface ValidatedTemplate {
  /** The syntax tree to compile. */
  readonly program: hbs.AST.Program;
  /** The partials it includes, by name as written, with the line of the first inclusion. */
  readonly partials: ReadonlyMap<string, number>;
  /** Names of the helpers and values it prints, as written. */
  readonly prints: ReadonlySet<string>;
  /** Ids of its slots. */
  readonly slots: ReadonlySet<string>;
}

/**
 * Maximum depth of nested blocks. Real templates have few levels, and each is a nested call when a page is rendered.
 */
const MAX_DEPTH = 100;
const BLOCKS = new Set(['if', 'unless', 'each', 'with']);
const BUILT_IN = new Set([...BLOCKS, 'lookup']);
/** Minimum and maximum number of arguments of helpers that would fail or print nonsense with any other number. */
const ARGUMENTS: Readonly<Record<string, readonly [number, number]>> = {
  if: [1, 1],
  unless: [1, 1],
  each: [1, 1],
  with: [1, 1],
  lookup: [2, 2],
  t: [1, 1],
  plural: [2, 2],
  num: [1, 1],
  time: [1, 1],
  rel: [1, 1],
  iso: [1, 1],
  url: [1, Infinity],
  asset: [1, 1],
  icon: [1, 1],
  icons: [1, Infinity],
  hue: [1, 1],
  avatar: [1, 1],
  eq: [2, 2],
  not: [1, 1],
  gt: [2, 2],
  has: [2, 2],
  object: [0, 0],
  truncate: [2, 2],
  json: [1, 1],
  form: [1, 1],
  slot: [1, 2],
  region: [1, 1],
};
const URL_ATTRIBUTES = new Set(['href', 'src', 'action', 'formaction', 'poster', 'srcset', 'cite', 'data']);

type Node = hbs.AST.Node;
type Call = hbs.AST.MustacheStatement | hbs.AST.BlockStatement | hbs.AST.SubExpression;

/**
 * Parses a template and refuses expressions that could print unescaped output, or that are in a position where escaping
 * does not help. Throws `TemplateError`. Only the helpers in `known` and the built-in ones are accepted, so that typing
 * errors are found.
 */
export function validateTemplate(file: string, source: string, known: ReadonlySet<string>): ValidatedTemplate {
  let program: hbs.AST.Program;
  try {
    program = Handlebars.parse(source);
  } catch (error) {
    const { line, message } = syntaxProblem(source, messageOf(error));
    throw new TemplateError(file, line, message, { cause: error });
  }
  checkDepth(file, program);
  const walk = new TemplateWalker(file, known, htmlPositions(program));
  walk.program(program);
  return { program, partials: walk.partials, prints: walk.prints, slots: walk.slots };
}

interface Problem {
  readonly line: number;
  readonly message: string;
}

/** Rephrases the parser's syntax error in the terms of a template author. */
function syntaxProblem(source: string, said: string): Problem {
  const [, opened, closed, at] = /^(\S+) doesn't match (\S+) - (\d+):/.exec(said) ?? [];
  if (at !== undefined) return { line: Number(at), message: `{{#${opened}}} is closed with {{/${closed}}}` };
  const unclosed = said.includes("got 'EOF'") ? unclosedBlock(source) : undefined;
  return (
    unclosed ?? {
      line: Number(/line (\d+)/.exec(said)?.[1] ?? 1),
      message: 'cannot be parsed from here on: check its braces and quotation marks',
    }
  );
}

/** The innermost block that is still open at the end. */
function unclosedBlock(source: string): Problem | undefined {
  const open: Problem[] = [];
  for (const { index, 1: sign, 2: name } of source.matchAll(/\{\{~?(?:!--[^]*?--|![^}]*|([#/])\s*([\w.-]+))/g))
    if (sign === '/') open.pop();
    else if (sign === '#')
      open.push({
        line: source.slice(0, index).split('\n').length,
        message: `{{#${name}}} is not closed: there is no {{/${name}}}`,
      });
  return open.at(-1);
}

function checkDepth(file: string, { body }: hbs.AST.Program, depth = 0): void {
  if (depth > MAX_DEPTH)
    throw new TemplateError(file, body[0]?.loc.start.line ?? 1, `has more than ${MAX_DEPTH} levels of blocks`);
  for (const node of body) {
    const { program, inverse } = node as { program?: hbs.AST.Program; inverse?: hbs.AST.Program };
    for (const inner of [program, inverse]) if (inner) checkDepth(file, inner, depth + 1);
  }
}

class TemplateWalker {
  readonly partials = new Map<string, number>();
  readonly prints = new Set<string>();
  readonly slots = new Set<string>();
  readonly #file: string;
  readonly #known: ReadonlySet<string>;
  readonly #positions: ReadonlyMap<Node, HtmlPosition>;

  constructor(file: string, known: ReadonlySet<string>, positions: ReadonlyMap<Node, HtmlPosition>) {
    this.#file = file;
    this.#known = known;
    this.#positions = positions;
  }

  program(program: hbs.AST.Program | undefined): void {
    for (const node of program?.body ?? []) this.#node(node);
  }

  #node(node: Node): void {
    switch (node.type) {
      case 'ContentStatement':
      case 'CommentStatement':
        return;
      case 'MustacheStatement':
        return this.#mustache(node as hbs.AST.MustacheStatement, this.#positions.get(node)!);
      case 'BlockStatement':
        return this.#block(node as hbs.AST.BlockStatement);
      case 'PartialStatement':
        return this.#partial(node as hbs.AST.PartialStatement);
      case 'PartialBlockStatement':
        throw this.#error(node, 'a partial cannot be a block; pass its values as name=value');
      default:
        throw this.#error(node, 'decorators are not supported');
    }
  }

  #mustache(node: hbs.AST.MustacheStatement, position: HtmlPosition): void {
    if (!node.escaped)
      throw this.#error(node, 'prints without escaping; write {{…}}, and let the plugin pass SafeHtml for HTML');
    const helper = this.#call(node);
    this.prints.add(String((node.path as hbs.AST.PathExpression).original));
    if (position.kind === 'comment') throw this.#error(node, 'no expressions inside comments; use {{! … }}');
    if (position.kind === 'raw' && !(position.data && helper === 'json'))
      throw this.#error(
        node,
        `no expressions inside <${position.element}>; put data into a JSON block with {{json …}}`,
      );
    if (position.kind === 'tag')
      throw this.#error(
        node,
        'a tag or attribute cannot be printed as a whole; write name="{{…}}" or put it inside {{#if}}',
      );
    if (position.kind === 'unquoted') throw this.#error(node, `put the value of ${position.attribute} in quotes`);
    if (position.kind !== 'value') return;
    if (position.attribute === 'style' || position.attribute.startsWith('on'))
      throw this.#error(node, `no expressions inside ${position.attribute}`);
    if (!URL_ATTRIBUTES.has(position.attribute)) return;
    if (position.first ? helper !== 'url' && helper !== 'asset' : true) {
      throw this.#error(
        node,
        `write the whole of ${position.attribute} as one {{url …}} or {{asset …}}, such as {{url "/c/" slug}}`,
      );
    }
  }

  #block(node: hbs.AST.BlockStatement): void {
    const helper = this.#call(node);
    if (helper === undefined || helper === 'lookup')
      throw this.#error(node, 'unknown block; use #if, #unless, #each or #with');
    this.program(node.program);
    this.program(node.inverse);
  }

  /** The helper's name if it is a helper call; undefined if it is a path into the model. */
  #call(node: Call): string | undefined {
    const path = node.path as hbs.AST.PathExpression;
    const given = [...(node.params ?? []), ...(node.hash?.pairs ?? []).map((pair) => pair.value)];
    for (const value of given) if (value.type === 'SubExpression') this.#call(value as hbs.AST.SubExpression);
    const name = String(path.original);
    const is = this.#known.has(name) || BUILT_IN.has(name);
    if (!is && (given.length > 0 || node.type === 'SubExpression')) throw this.#unknownHelper(node, name);
    if (!is) return undefined;
    this.#checkUse(node, name);
    return name;
  }

  #unknownHelper(node: Call, name: string): TemplateError {
    const all = [...this.#known, ...BUILT_IN];
    const remedy = didYouMean(name, all, 'docs/reference/templates.md lists them');
    return this.#error(node, `unknown helper "${name}"; ${remedy}`);
  }

  #checkUse(node: Call, name: string): void {
    if (BLOCKS.has(name) && node.type !== 'BlockStatement')
      throw this.#error(node, `"${name}" is a block: {{#${name} …}}`);
    const [least, most] = ARGUMENTS[name] ?? [0, Infinity];
    if (node.params.length < least || node.params.length > most) {
      throw this.#error(
        node,
        `"${name}" takes ${least === most ? least : `at least ${least}`} before its name=value pairs, not ${node.params.length}`,
      );
    }
    if (name === 'url') this.#checkParts(node);
    const [first] = node.params;
    if (name === 'slot' && first?.type === 'StringLiteral') this.slots.add((first as hbs.AST.StringLiteral).value);
  }

  /** `url` encodes every character of its parts except the first, including `/`. */
  #checkParts(node: Call): void {
    for (const part of node.params.slice(1)) {
      const text = part.type === 'StringLiteral' ? (part as hbs.AST.StringLiteral).value : '';
      if (text.includes('/'))
        throw this.#error(
          node,
          `"url" puts "/" between its parts and encodes any slash in them; write "${text.split('/').filter(Boolean).join('" "')}" instead of "${text}"`,
        );
    }
  }

  #partial(node: hbs.AST.PartialStatement): void {
    const name = node.name as hbs.AST.PathExpression;
    if (node.name.type === 'SubExpression') throw this.#error(node, 'the name of a partial must be written out');
    const given = [...node.params, ...(node.hash?.pairs ?? []).map((pair) => pair.value)];
    for (const value of given) if (value.type === 'SubExpression') this.#call(value as hbs.AST.SubExpression);
    if (!this.partials.has(String(name.original))) this.partials.set(String(name.original), node.loc.start.line);
  }

  #error(node: Node, message: string): TemplateError {
    return new TemplateError(this.#file, node.loc.start.line, message);
  }
}
