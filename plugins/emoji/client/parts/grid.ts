import { written, type Emoji } from './emoji.ts';

/** Cells per row, as in the style sheet. */
const COLUMNS = 8;

/** A grid of emoji with a single tab stop; the arrow keys move within it. */
export class Grid {
  readonly #element: HTMLElement;
  #shown: readonly Emoji[] = [];

  constructor(element: HTMLElement, choose: (emoji: Emoji) => void) {
    this.#element = element;
    element.addEventListener('keydown', (event) => this.#key(event));
    element.addEventListener('click', ({ target }) => {
      const at = this.#cells.indexOf((target as Element).closest('button')!);
      if (at >= 0) choose(this.#shown[at]!);
    });
  }

  get #cells(): HTMLButtonElement[] {
    return [...this.#element.querySelectorAll('button')];
  }

  get first(): Emoji | undefined {
    return this.#shown[0];
  }

  show(emoji: readonly Emoji[], label: string): void {
    this.#shown = emoji;
    this.#element.hidden = emoji.length === 0;
    this.#element.ariaLabel = label;
    const cells = emoji.map(cellOf);
    const rows = Array.from({ length: Math.ceil(cells.length / COLUMNS) }, (_, at) => {
      const row = Object.assign(document.createElement('div'), { className: 'emoji-row', role: 'row' });
      row.append(...cells.slice(at * COLUMNS, (at + 1) * COLUMNS));
      return row;
    });
    this.#element.replaceChildren(...rows);
    if (cells[0]) cells[0].tabIndex = 0;
  }

  focus(at = 0): void {
    const cells = this.#cells;
    const next = cells[at];
    if (!next) return;
    for (const cell of cells) cell.tabIndex = cell === next ? 0 : -1;
    next.focus();
    next.scrollIntoView({ block: 'nearest' });
  }

  #key(event: KeyboardEvent): void {
    const { length } = this.#shown;
    const at = this.#cells.indexOf(document.activeElement as HTMLButtonElement);
    const row = at - (at % COLUMNS);
    const way = getComputedStyle(this.#element).direction === 'rtl' ? -1 : 1;
    // Moving down into a short last row goes to its last cell if there is none directly below.
    const below = row + COLUMNS < length ? Math.min(at + COLUMNS, length - 1) : at;
    const next = {
      ArrowRight: at + way,
      ArrowLeft: at - way,
      ArrowDown: below,
      ArrowUp: row === 0 ? at : at - COLUMNS,
      Home: event.ctrlKey ? 0 : row,
      End: event.ctrlKey ? length - 1 : Math.min(row + COLUMNS, length) - 1,
    }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    this.focus(next);
  }
}

function cellOf(one: Emoji): HTMLButtonElement {
  const cell = document.createElement('button');
  const name = one.names[0] ?? '';
  Object.assign(cell, {
    type: 'button',
    role: 'gridcell',
    tabIndex: -1,
    textContent: written(one),
    title: [...one.words.slice(0, 1), `:${name}:`].join(' '),
  });
  cell.ariaLabel = one.words[0] ?? name.replaceAll('_', ' ');
  return cell;
}
