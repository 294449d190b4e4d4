import { randomUUID } from 'node:crypto';
import type MarkdownIt from 'markdown-it';
import type { StateInline } from 'markdown-it';
import footnote from 'markdown-it-footnote';

/** The format of footnote ids, which no script or style looks up. */
export const FOOTNOTE_ID = /^(?:fn|fnref)-[0-9a-f]{8}-\d{1,5}(?:-\d{1,5})?$/;

/**
 * Maximum characters of a footnote's name. The rule searches for the end of each name that is opened, however far away:
 * without a limit, unclosed names take quadratic time.
 */
const MAX_NAME = 100;

interface Note {
  readonly id: number;
  readonly subId: number;
}

/** A key in the ids of one text's footnotes, so that several texts can be on one page. */
export const footnoteKey = (): string => randomUUID().slice(0, 8);

/**
 * `[^1]` and `[^1]: …`, with a link to the note and one back. Inline notes, `^[…]`, are disabled: parsing nested ones
 * takes disproportionate time. `env.footnoteKey` holds the text's key.
 */
export function footnotes(markdown: InstanceType<typeof MarkdownIt>): void {
  markdown.use(footnote);
  markdown.inline.ruler.disable('footnote_inline');
  boundNames(markdown);
  const { rules } = markdown.renderer;
  const ids = (
    note: unknown,
    env: unknown,
  ): { readonly note: string; readonly reference: string; readonly number: number } => {
    const { id, subId } = note as Note;
    const name = `${(env as { readonly footnoteKey: string }).footnoteKey}-${id + 1}`;
    return { note: `fn-${name}`, reference: `fnref-${name}${subId > 0 ? `-${subId}` : ''}`, number: id + 1 };
  };
  rules['footnote_ref'] = (tokens, index, _options, env) => {
    const { note, reference, number } = ids(tokens[index]!.meta, env);
    return `<sup><a class="footnote" href="#${note}" id="${reference}" role="doc-noteref">${number}</a></sup>`;
  };
  rules['footnote_block_open'] = () => '<section class="footnotes" role="doc-endnotes">\n<ol>\n';
  rules['footnote_open'] = (tokens, index, _options, env) =>
    `<li id="${ids({ ...tokens[index]!.meta, subId: 0 }, env).note}" dir="auto">`;
  rules['footnote_anchor'] = (tokens, index, _options, env) =>
    ` <a class="footnote-back" href="#${ids(tokens[index]!.meta, env).reference}" role="doc-backlink">↩\uFE0E</a>`;
}

type InlineRule = (state: StateInline, silent: boolean) => boolean;

/** Limits the text that the rule for `[^name]` sees to the longest name allowed. */
function boundNames(markdown: InstanceType<typeof MarkdownIt>): void {
  const reference = (markdown.inline.ruler.getRules('') as readonly InlineRule[]).find(
    ({ name }) => name === 'footnote_ref',
  )!;
  markdown.inline.ruler.at('footnote_ref', (state, silent) => {
    const { posMax } = state;
    state.posMax = Math.min(posMax, state.pos + MAX_NAME + '[^]'.length);
    const found = reference(state, silent);
    state.posMax = posMax;
    return found;
  });
}
