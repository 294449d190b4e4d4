import type MarkdownIt from 'markdown-it';
import type { StateCore, StateInline } from 'markdown-it';
import container from 'markdown-it-container';

/** Starts and ends an inline spoiler. */
export const SPOILER_MARK = '||';
/** Shown in place of the hidden text; also the keyword in Markdown, in every language. */
const LABEL = 'Spoiler';
const MAX_TITLE = 200;
/**
 * Maximum characters that the rule for plain text consumes at once. Text that it consumed beyond a spoiler mark is
 * scanned again from the mark on, so texts with many marks would otherwise take quadratic time.
 */
const MAX_RUN = 64;

/** `||a few words||`, and `:::spoiler Title` … `:::` for blocks: hidden until opened by pointer or keyboard. */
export function spoilers(markdown: InstanceType<typeof MarkdownIt>): void {
  markdown.inline.ruler.before('text', 'spoiler', words);
  stopAtMarks(markdown);
  markdown.core.ruler.push('spoiler_paragraphs', paragraphs);
  markdown.renderer.rules['spoiler_open'] = () => `<details class="spoiler words"><summary>${LABEL}</summary>`;
  container(markdown, 'spoiler', {
    render: (tokens, index, _options, _env, renderer) => {
      const token = tokens[index]!;
      if (token.nesting === -1) return '</details>\n';
      const title = token.info.trim().slice('spoiler'.length).trim().slice(0, MAX_TITLE) || LABEL;
      token.attrJoin('class', 'spoiler');
      return `<details${renderer.renderAttrs(token)}><summary>${markdown.utils.escapeHtml(title)}</summary>\n`;
    },
  });
}

/** Whether a token opens (1) or closes (-1) a spoiler. */
export const spoilerNesting = ({ type, nesting }: { readonly type: string; readonly nesting: number }): number =>
  type.startsWith('spoiler_') || type.startsWith('container_spoiler_') ? nesting : 0;

function words(state: StateInline, silent: boolean): boolean {
  const { pos, posMax } = state;
  if (!state.src.startsWith(SPOILER_MARK, pos) || state.linkLevel > 0) return false;
  const end = state.src.indexOf(SPOILER_MARK, pos + SPOILER_MARK.length);
  if (end < 0 || end + SPOILER_MARK.length > posMax || state.src.slice(pos + SPOILER_MARK.length, end).trim() === '')
    return false;
  if (!silent) {
    state.push('spoiler_open', 'details', 1);
    state.pos = pos + SPOILER_MARK.length;
    state.posMax = end;
    state.md.inline.tokenize(state);
    state.push('spoiler_close', 'details', -1);
  }
  state.pos = end + SPOILER_MARK.length;
  state.posMax = posMax;
  return true;
}

type InlineRule = (state: StateInline, silent: boolean) => boolean;

/** Makes the rule for plain text stop at spoiler marks, by giving back what it consumed beyond one. */
function stopAtMarks(markdown: InstanceType<typeof MarkdownIt>): void {
  const text = (markdown.inline.ruler.getRules('') as readonly InlineRule[]).find(({ name }) => name === 'text')!;
  markdown.inline.ruler.at('text', (state, silent) => {
    const { pos: from, posMax } = state;
    state.posMax = Math.min(posMax, from + MAX_RUN);
    const found = text(state, silent);
    state.posMax = posMax;
    if (!found) return false;
    const mark = state.src.slice(from, state.pos).indexOf(SPOILER_MARK, 1);
    if (mark < 0) return true;
    if (!silent) state.pending = state.pending.slice(0, from + mark - state.pos);
    state.pos = from + mark;
    return true;
  });
}

/** A paragraph cannot contain `details`, so it becomes a `div`. */
function paragraphs({ tokens }: StateCore): void {
  for (const [index, token] of tokens.entries()) {
    const [open, close] = [tokens[index - 1], tokens[index + 1]];
    if (open?.type !== 'paragraph_open' || !close || !token.children?.some(({ type }) => type === 'spoiler_open'))
      continue;
    open.tag = 'div';
    close.tag = 'div';
  }
}
