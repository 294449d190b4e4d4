import type MarkdownIt from 'markdown-it';
import type { StateBlock, StateCore, Token } from 'markdown-it';

/** Maximum characters of a table's accessible name. */
const MAX_NAME = 100;

type BlockRule = (state: StateBlock, start: number, end: number, silent: boolean) => boolean;

/**
 * Tables in a region that scrolls sideways, named after their header row. `env.cells` is the number of cells that the
 * tables of the text may still have.
 */
export function tables(markdown: InstanceType<typeof MarkdownIt>, maxCells: number): void {
  boundCells(markdown, maxCells);
  markdown.core.ruler.push('table_regions', regions);
  markdown.renderer.rules['table_open'] = (tokens, index, _options, _env, renderer) =>
    `<div class="table-scroll"${renderer.renderAttrs(tokens[index]!)}><table>\n`;
  markdown.renderer.rules['table_close'] = () => '</table></div>\n';
}

/**
 * Limits the table rule to the lines that the remaining cells allow: if a table continues beyond them, the text is
 * refused.
 */
function boundCells(markdown: InstanceType<typeof MarkdownIt>, maxCells: number): void {
  const table = (markdown.block.ruler.getRules('') as readonly BlockRule[]).find(({ name }) => name === 'table')!;
  const bounded: BlockRule = (state, start, end, silent) => {
    if (!table(state, start, end, true)) return false;
    if (silent) return true;
    const columns = state.src
      .slice(state.bMarks[start + 1], state.eMarks[start + 1])
      .trim()
      .replace(/^\||\|$/g, '')
      .split('|').length;
    const left = state.env['cells'] as number;
    const stop = start + 1 + Math.floor(left / columns);
    const fits = stop >= start + 2 && table(state, start, Math.min(end, stop), false);
    if (!fits || (state.line === stop && stop < end && !state.isEmpty(stop))) {
      throw new RangeError(
        `has tables with more than ${maxCells.toLocaleString('en')} cells; every row counts with all columns of its table`,
      );
    }
    state.env['cells'] = left - (state.line - start - 1) * columns;
    return true;
  };
  markdown.block.ruler.at('table', bounded, { alt: ['paragraph', 'reference'] });
}

function regions({ tokens }: StateCore): void {
  let table: Token | undefined;
  let name: string[] = [];
  for (const token of tokens) {
    if (token.type === 'table_open') {
      table = token;
      name = [];
      // Focusable, so that a wide table can be scrolled by keyboard.
      table.attrSet('tabindex', '0');
    } else if (token.type === 'thead_close') {
      nameRegion(table, name.join(', '));
      table = undefined;
    } else if (table && token.type === 'inline') name.push(token.content);
  }
}

function nameRegion(table: Token | undefined, name: string): void {
  const shown = name.slice(0, MAX_NAME).trim();
  if (!table || !/[\p{L}\p{N}]/u.test(shown)) return;
  table.attrSet('role', 'region');
  table.attrSet('aria-label', shown);
}
