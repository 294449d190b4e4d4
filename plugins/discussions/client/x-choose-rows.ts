import { announce, define } from '@forum/client';
import { tickRanges } from './parts/ranges.ts';

/** Identifies a row by the number of its discussion. */
const numberOf = (row: Element): string => /\d+$/.exec(row.getAttribute('aria-labelledby') ?? '')?.[0] ?? '';

/**
 * The bar with the actions for several discussions of a list, which a press of the list’s “Select” opens: each row gets
 * a checkbox that belongs to the form in the bar.
 */
class ChooseRows extends HTMLElement {
  #gone: AbortController | undefined;
  #rowsChange: MutationObserver | undefined;

  connectedCallback(): void {
    const { signal } = (this.#gone = new AbortController());
    const list = this.parentElement!;
    list.querySelector('.list-select')?.addEventListener(
      'click',
      (event) => {
        event.preventDefault();
        this.#switch(this.hidden !== false);
      },
      { signal },
    );
    list.addEventListener(
      'change',
      ({ target }) => {
        if (target === this.#all) for (const box of this.#boxes()) box.checked = this.#all.checked;
        this.#count();
      },
      { signal },
    );
    tickRanges(list, () => this.#boxes(), signal);
    this.querySelector('[data-end]')?.addEventListener('click', () => this.#switch(false), { signal });
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
    this.#rowsChange?.disconnect();
  }

  get #all(): HTMLInputElement {
    return this.querySelector('[data-all]')!;
  }

  get #feed(): HTMLElement | null {
    return this.parentElement!.querySelector('.feed');
  }

  #boxes(): readonly HTMLInputElement[] {
    return [...(this.#feed?.querySelectorAll<HTMLInputElement>('.card-choice input') ?? [])];
  }

  #switch(on: boolean): void {
    const feed = this.#feed;
    if (!feed) return;
    this.hidden = !on;
    feed.classList.toggle('choosing', on);
    this.#rowsChange?.disconnect();
    if (on) {
      this.#offer();
      // Further pages are appended, and rows are replaced by newer ones.
      this.#rowsChange = new MutationObserver(() => this.#offer());
      this.#rowsChange.observe(feed, { childList: true, subtree: true });
      feed.querySelector<HTMLInputElement>('.card-choice input')?.focus();
    } else {
      for (const choice of feed.querySelectorAll('.card-choice')) choice.remove();
      this.parentElement!.querySelector<HTMLElement>('.list-select')?.focus();
    }
    this.#count();
  }

  /** Gives each row without a checkbox one. */
  #offer(): void {
    for (const row of this.#feed?.querySelectorAll('.card:not(:has(> .card-choice))') ?? []) {
      const box = Object.assign(document.createElement('input'), { type: 'checkbox', name: 'ids[]' });
      box.value = numberOf(row);
      box.setAttribute('form', this.querySelector('form')!.id);
      const name = document.createElement('span');
      name.className = 'hidden';
      name.textContent = (this.dataset['choose'] ?? '').replace(
        '{title}',
        row.querySelector('.card-title a')?.textContent ?? '',
      );
      const label = document.createElement('label');
      label.className = 'card-choice';
      label.append(box, name);
      row.prepend(label);
    }
    this.#count();
  }

  #count(): void {
    const boxes = this.#boxes();
    const chosen = boxes.filter(({ checked }) => checked);
    const most = Number(this.dataset['most']);
    const text = chosen.length > most ? this.dataset['tooMany'] : this.dataset['text'];
    const said = (text ?? '').replace('{count}', String(chosen.length));
    const output = this.querySelector('output')!;
    if (output.textContent !== said) {
      output.textContent = said;
      if (!this.hidden) announce(said);
    }
    this.#all.checked = boxes.length > 0 && chosen.length === boxes.length;
    this.#all.indeterminate = chosen.length > 0 && chosen.length < boxes.length;
    const none = chosen.length === 0 || chosen.length > most;
    for (const button of this.querySelectorAll<HTMLButtonElement>('button[name]')) button.disabled = none;
    const more = this.querySelector<HTMLAnchorElement>('[data-more]')!;
    const url = new URL(more.href);
    if (none) url.searchParams.delete('chosen');
    else url.searchParams.set('chosen', chosen.map(({ value }) => value).join());
    more.href = url.href;
  }
}
define('x-choose-rows', ChooseRows);
