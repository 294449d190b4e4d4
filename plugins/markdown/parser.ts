import MarkdownIt, { type StateCore, type Token } from 'markdown-it';
import { EXTERNAL_REL, imageSource, linkTarget, MAX_URL_LENGTH, type UrlRules } from './url-rules.ts';
import { codeBlocks, type Highlight } from './syntax/code-blocks.ts';
import { footnoteKey, footnotes } from './syntax/footnotes.ts';
import { mention } from './syntax/mentions.ts';
import { spoilerNesting, spoilers } from './syntax/spoilers.ts';
import { tables } from './syntax/tables.ts';
import { taskLists } from './syntax/task-lists.ts';

/** The total length of all attributes of one text, in characters: repeated link references multiply their URLs. */
const MAX_ATTRIBUTE_CHARACTERS = 256 * 1024;
/** Quotes and lists nested more deeply are shown as text. */
const MAX_NESTING = 40;
/**
 * Cells of all tables of one text together: every row is padded to the width of its header, so a single character can
 * become a whole row of cells.
 */
const MAX_CELLS = 10_000;
/** Enough for the beginning of an ordinary text. Excerpts are rendered on the main thread. */
const MAX_EXCERPT_CELLS = 500;

export interface Parser {
  /** HTML of allowed elements only, which is sanitised nevertheless. Throws if the output grows out of proportion. */
  parse(source: string): string;
  /** The text without markup, for excerpts. */
  plainText(source: string): string;
}

/**
 * Markdown for one site: CommonMark with tables, task lists, footnotes, spoilers, strikethrough, bare links and
 * mentions; line breaks are kept, HTML is not supported.
 */
export function createParser(rules: UrlRules, highlight?: Highlight): Parser {
  const markdown = grammarOf(rules, highlight);
  const texts = grammarOf(rules);
  // Mentions and bare links read the same as text, and looking for links takes the most time.
  texts.core.ruler.disable('linkify');
  return {
    parse: (source) => markdown.render(source, { cells: MAX_CELLS, footnoteKey: footnoteKey() }),
    plainText: (source) => (isPlain(source) ? source : plainText(texts.parse(source, { cells: MAX_EXCERPT_CELLS }))),
  };
}

function grammarOf(rules: UrlRules, highlight?: Highlight): InstanceType<typeof MarkdownIt> {
  const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true, maxNesting: MAX_NESTING });
  markdown.validateLink = (url) => linkTarget(url, rules) !== undefined;
  boundLinks(markdown);
  markdown.inline.ruler.push('mention', mention);
  tables(markdown, MAX_CELLS);
  footnotes(markdown);
  spoilers(markdown);
  markdown.core.ruler.push('site_rules', (state) => siteRules(state, rules));
  taskLists(markdown);
  codeBlocks(markdown, highlight);
  return markdown;
}

/**
 * Limits the text in which bare links are matched to the longest URL allowed, because matching continues at each `://`
 * in a run of URLs without spaces. Disables links that start with `//`, which `validateLink` would refuse only after
 * they were matched.
 */
function boundLinks({ linkify }: InstanceType<typeof MarkdownIt>): void {
  linkify.add('//', null);
  linkify.set({ maxLength: MAX_URL_LENGTH + 1 });
  const matchAtStart = linkify.matchAtStart.bind(linkify);
  linkify.matchAtStart = (text) => {
    const link = matchAtStart(text.slice(0, MAX_URL_LENGTH + 1));
    return link && link.raw.length <= MAX_URL_LENGTH ? link : null;
  };
}

/** Core rule that applies the site's requirements to every block, link and image. */
function siteRules(state: StateCore, rules: UrlRules): void {
  let spent = 0;
  const outline: number[] = [];
  for (const token of state.tokens) {
    block(token, outline);
    if (!token.children) continue;
    token.children = inline(token.children, state, rules);
    for (const child of token.children) for (const [, value] of child.attrs ?? []) spent += String(value).length;
    if (spent > MAX_ATTRIBUTE_CHARACTERS) throw new RangeError('has links that repeat too often');
  }
}

/** `outline`: the levels, as written, of the last heading and its ancestors. */
function block(token: Token, outline: number[]): void {
  if (token.type === 'heading_open') {
    const level = Number(token.tag.slice(1));
    while (outline.length > 0 && (outline.at(-1) ?? 0) >= level) outline.pop();
    outline.push(level);
  }
  // Pages have an h1 and h2 above members' texts; below them the outline must not skip a level.
  if (token.type === 'heading_open' || token.type === 'heading_close')
    token.tag = `h${Math.min(6, 2 + outline.length)}`;
  if (token.type === 'th_open' || token.type === 'td_open') align(token);
  // Only on the outermost block: text in elements with a direction of their own is ignored when the parent's is
  // determined.
  if (token.level === 0 && token.nesting === 1) token.attrSet('dir', 'auto');
}

/** Column alignment as a class: the content security policy forbids inline style. */
function align(token: Token): void {
  const side = /(left|center|right)/.exec(String(token.attrGet('style') ?? ''))?.[1];
  token.attrs = side === undefined ? null : [['class', `align-${side}`]];
}

function inline(children: readonly Token[], state: StateCore, rules: UrlRules): Token[] {
  let inLink = 0;
  return children.flatMap((token) => {
    if (token.type === 'link_open') link(token, rules);
    inLink += token.type === 'link_open' ? 1 : token.type === 'link_close' ? -1 : 0;
    return token.type === 'image' ? image(token, state, rules, inLink > 0) : [token];
  });
}

function link(token: Token, rules: UrlRules): void {
  const target = linkTarget(String(token.attrGet('href') ?? ''), rules);
  if (!target) return;
  token.attrSet('href', target.href);
  if (target.external) token.attrSet('rel', EXTERNAL_REL);
}

/**
 * Images from hosts that are not allowed would tell them who reads the text: they become links with their description.
 */
function image(token: Token, state: StateCore, rules: UrlRules, inLink: boolean): Token[] {
  const url = String(token.attrGet('src') ?? '');
  const source = imageSource(url, rules);
  if (source !== undefined) {
    token.attrSet('src', source);
    token.attrSet('loading', 'lazy');
    token.attrSet('decoding', 'async');
    return [token];
  }
  const text = new state.Token('text', '', 0);
  text.content = plainText([token]) || url;
  if (inLink) return [text];
  const open = new state.Token('link_open', 'a', 1);
  open.attrs = [['href', url]];
  link(open, rules);
  return [open, text, new state.Token('link_close', 'a', -1)];
}

const MARKS = /[\\`*_~[\]<>&|@]|:\/\/|www\./;
const BLOCK_MARKS = /^(?: {0,3}\t| {4}|[ \t]*(?:[#+=:-]|\d+[.)]))/m;

/** Whether a text certainly contains no Markdown, as in about half of all posts: pages show many excerpts. */
const isPlain = (source: string): boolean => !MARKS.test(source) && !BLOCK_MARKS.test(source);

function plainText(tokens: readonly Token[]): string {
  let hidden = 0;
  const parts = tokens.map((token) => {
    hidden += spoilerNesting(token);
    if (hidden > 0) return '';
    if (spoilerNesting(token) < 0) return token.block ? '… ' : '…';
    if (token.type === 'image') return plainText(token.children ?? []) || token.content;
    if (token.children) return plainText(token.children);
    if (token.type === 'text' || token.type === 'code_inline') return token.content;
    if (token.type === 'softbreak' || token.type === 'hardbreak' || (token.nesting === -1 && token.block)) return ' ';
    return '';
  });
  return parts.join('');
}
