import { api, define } from '@forum/client';

interface Tag {
  readonly slug: string;
  readonly name: string;
  readonly discussion_count: number;
}
/** Milliseconds after the last keystroke before suggestions are requested. */
const PAUSE = 150;
/** The number of suggestions shown, and the number requested. */
const SHOWN = 8;
const ASKED = 30;
/** Pixels between the field and the list of suggestions. */
const GAP = 2;

/** The field for comma-separated tags: suggests existing ones for the tag at the caret. */
class TagField extends HTMLElement {
  readonly #list = Object.assign(document.createElement('ul'), { className: 'completions tag-choices', hidden: true });
  #input!: HTMLInputElement;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #asking: AbortController | undefined;

  connectedCallback(): void {
    const input = this.querySelector('input');
    if (!input || this.#input) return;
    this.#input = input;
    Object.assign(this.#list, { id: `${input.id}-choices`, role: 'listbox', ariaLabel: this.dataset['label'] });
    Object.assign(input, { role: 'combobox', ariaAutoComplete: 'list', ariaExpanded: 'false', autocomplete: 'off' });
    input.setAttribute('aria-controls', this.#list.id);
    this.append(this.#list);
    for (const event of ['input', 'focus']) input.addEventListener(event, () => this.#later());
    input.addEventListener('blur', () => this.#close());
    input.addEventListener('keydown', (event) => this.#key(event));
    // Keeps the focus in the field.
    this.#list.addEventListener('mousedown', (event) => event.preventDefault());
    this.#list.addEventListener('click', ({ target }) => this.#accept((target as Element).closest('li')));
    if (document.activeElement === input) this.#later();
  }

  disconnectedCallback(): void {
    this.#close();
  }

  /** The tag at the caret: its start, its end and its trimmed text. */
  get #part(): { readonly start: number; readonly end: number; readonly text: string } {
    const { value, selectionStart } = this.#input;
    const start = value.lastIndexOf(',', (selectionStart ?? value.length) - 1) + 1;
    const comma = value.indexOf(',', start);
    const end = comma < 0 ? value.length : comma;
    return { start, end, text: value.slice(start, end).trim() };
  }

  get #chosen(): HTMLElement | null {
    return this.#list.hidden ? null : this.#list.querySelector('[aria-selected="true"]');
  }

  #later(): void {
    clearTimeout(this.#waiting);
    this.#asking?.abort();
    this.#waiting = setTimeout(() => void this.#ask(this.#part.text), PAUSE);
  }

  async #ask(text: string): Promise<void> {
    const { signal } = (this.#asking = new AbortController());
    try {
      const path = `/api/tags?limit=${ASKED}&q=${encodeURIComponent(text)}`;
      const { tags } = await api<{ tags: readonly Tag[] }>(path, undefined, 'GET', { signal });
      if (document.activeElement === this.#input) this.#show(tags, text);
    } catch {
      if (!signal.aborted) this.#close();
    }
  }

  /**
   * Suggestions starting with the typed text come first, and then the first one is selected; tags already in the field
   * are left out.
   */
  #show(tags: readonly Tag[], text: string): void {
    const { start, end } = this.#part;
    const { value } = this.#input;
    const others = `${value.slice(0, start)},${value.slice(end)}`.split(',').map((name) => name.trim().toLowerCase());
    const begins = ({ name }: Tag): number => Number(name.toLowerCase().startsWith(text.toLowerCase()));
    const offered = tags
      .filter(({ name }) => !others.includes(name.toLowerCase()))
      .toSorted((one, other) => begins(other) - begins(one))
      .slice(0, SHOWN);
    this.#list.replaceChildren(...offered.map((tag, at) => optionOf(tag, `${this.#list.id}-${at}`)));
    this.#list.hidden = offered.length === 0;
    this.#list.style.insetBlockStart = `${this.#input.offsetTop + this.#input.offsetHeight + GAP}px`;
    this.#input.ariaExpanded = String(!this.#list.hidden);
    this.#choose(text === '' ? null : this.#list.firstElementChild);
  }

  #choose(option: Element | null): void {
    for (const one of this.#list.children) one.ariaSelected = String(one === option);
    if (option) this.#input.setAttribute('aria-activedescendant', option.id);
    else this.#input.removeAttribute('aria-activedescendant');
    option?.scrollIntoView({ block: 'nearest' });
  }

  #key(event: KeyboardEvent): void {
    if (event.isComposing || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    const { key } = event;
    if (key === 'ArrowDown' || key === 'ArrowUp') this.#step(key === 'ArrowDown' ? 1 : -1);
    else if (key === 'Escape' && !this.#list.hidden) this.#close();
    else if (this.#ends(key)) this.#accept(this.#chosen);
    else return;
    event.preventDefault();
  }

  /** Whether a key completes the tag at the caret. */
  #ends(key: string): boolean {
    if (key === 'Enter') return this.#chosen !== null || this.#part.text !== '';
    return key === 'Tab' && this.#chosen !== null;
  }

  #step(by: 1 | -1): void {
    const options = [...this.#list.children];
    const at = this.#chosen ? options.indexOf(this.#chosen) + by : by > 0 ? 0 : -1;
    this.#choose(options.at(at % Math.max(options.length, 1)) ?? null);
  }

  /** Inserts the selected option, or else the typed text, followed by a comma. */
  #accept(option: HTMLElement | null): void {
    const { start, end, text } = this.#part;
    const name = option?.dataset['name'] ?? text;
    const input = this.#input;
    const rest = input.value.slice(end);
    input.setRangeText(`${start > 0 ? ' ' : ''}${name}${rest === '' ? ', ' : ''}`, start, end, 'end');
    input.dispatchEvent(new Event('input', { bubbles: true }));
    this.#close();
  }

  #close(): void {
    clearTimeout(this.#waiting);
    this.#asking?.abort();
    this.#list.hidden = true;
    this.#input.ariaExpanded = 'false';
    this.#choose(null);
  }
}

function optionOf({ name, discussion_count: count }: Tag, id: string): HTMLElement {
  const option = Object.assign(document.createElement('li'), { className: 'completion', id, role: 'option' });
  option.dataset['name'] = name;
  const label = Object.assign(document.createElement('span'), { className: 'completion-label' });
  Object.assign(label, { textContent: name, dir: 'auto' });
  const hint = Object.assign(document.createElement('span'), { className: 'completion-hint' });
  hint.textContent = count.toLocaleString(document.documentElement.lang);
  option.append(label, hint);
  return option;
}
define('x-tag-field', TagField);
