import { define } from '@forum/client';
import { tickRanges } from './parts/ranges.ts';

/**
 * A group of checkboxes with one to select all, Shift-click to select a range, the number selected, and a link to act
 * on them. `data-others`: how many more are selected on other pages.
 */
class Selection extends HTMLElement {
  connectedCallback(): void {
    if (this.querySelector('output')) return;
    const all = Object.assign(document.createElement('input'), { type: 'checkbox' });
    all.addEventListener('change', () => {
      for (const box of this.#boxes()) box.checked = all.checked;
      this.#count();
    });
    const label = document.createElement('label');
    label.className = 'switch';
    label.append(all, this.dataset['all'] ?? '');
    const go = Object.assign(document.createElement('a'), { href: this.dataset['form'], className: 'button small' });
    go.textContent = this.dataset['go'] ?? '';
    const line = document.createElement('p');
    line.className = 'save row';
    line.append(label, document.createElement('output'), go);
    this.append(line);
    tickRanges(this, () => this.#boxes());
    this.addEventListener('change', () => this.#count());
    this.#count();
  }

  #boxes(): readonly HTMLInputElement[] {
    return [...this.querySelectorAll<HTMLInputElement>('input[type="checkbox"][name$="[]"]')];
  }

  #count(): void {
    const boxes = this.#boxes();
    const chosen = boxes.filter(({ checked }) => checked).length;
    const count = chosen + Number(this.dataset['others'] ?? 0);
    this.querySelector('output')!.textContent = (this.dataset['text'] ?? '').replace('{count}', String(count));
    const all = this.querySelector<HTMLInputElement>('p input')!;
    all.checked = chosen === boxes.length;
    all.indeterminate = chosen > 0 && chosen < boxes.length;
  }
}
define('x-selection', Selection);
