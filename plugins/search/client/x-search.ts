import { announce, button, define, store } from '@forum/client';

interface Suggestion {
  readonly label: string;
  readonly path: string;
  readonly detail: string | null;
}
interface Group {
  /** What is suggested, such as `discussions`. */
  readonly kind?: string;
  readonly label: string;
  readonly suggestions: readonly Suggestion[];
}
/** Milliseconds after the last key press before suggestions are fetched. */
const PAUSE = 150;
const MIN_LETTERS = 2;
const RECENT = 'recent-searches';
const MOST_RECENT = 8;

function recentSearches(): readonly string[] {
  try {
    return JSON.parse(store.get(RECENT) ?? '[]') as string[];
  } catch {
    return [];
  }
}
const searchPath = (q: string): string => `/search?${new URLSearchParams({ q })}`;

/**
 * A search field that suggests pages while the user is typing, and recent searches of this browser. With `data-take`,
 * a kind of suggestions, it is a field of another form: it offers those of that kind only, except the path in
 * `data-except`, and its value becomes the path of the chosen one.
 */
class SearchBox extends HTMLElement {
  readonly #popup = document.createElement('div');
  readonly #list = document.createElement('div');
  readonly #known = new Map<string, readonly Group[]>();
  #input!: HTMLInputElement;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #asking: AbortController | undefined;
  #gone: AbortController | undefined;

  connectedCallback(): void {
    const input = this.querySelector('input');
    if (!input) return;
    this.#input = input;
    this.#gone = new AbortController();
    const { signal } = this.#gone;
    this.#popup.className = 'suggestions';
    this.#popup.hidden = true;
    Object.assign(this.#list, { id: `${input.id}-list`, role: 'listbox', ariaLabel: this.dataset['label'] });
    this.#popup.append(this.#list);
    this.append(this.#popup);
    Object.assign(input, { role: 'combobox', ariaAutoComplete: 'list', ariaExpanded: 'false' });
    input.setAttribute('aria-controls', this.#list.id);
    input.addEventListener('input', () => this.#later(), { signal });
    input.addEventListener('focus', () => this.#later(), { signal });
    input.addEventListener('keydown', (event) => this.#key(event), { signal });
    if (this.#take === undefined) input.form?.addEventListener('submit', () => this.#remember(), { signal });
    else this.#list.addEventListener('click', (event) => this.#accept(event), { signal });
    this.addEventListener(
      'focusout',
      ({ relatedTarget }) => {
        if (!this.contains(relatedTarget as Node | null)) this.#close();
      },
      { signal },
    );
    // Keeps the focus in the field when a suggestion is clicked.
    this.#list.addEventListener('mousedown', (event) => event.preventDefault(), { signal });
    if (document.activeElement === input) this.#later();
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
    this.#asking?.abort();
    clearTimeout(this.#waiting);
  }

  /** Translated headings by the labels in the API, which only has one language. */
  get #headings(): Readonly<Record<string, string>> {
    return JSON.parse(this.dataset['headings'] ?? '{}') as Record<string, string>;
  }

  get #take(): string | undefined {
    return this.dataset['take'];
  }

  get #options(): HTMLElement[] {
    return [...this.#list.querySelectorAll<HTMLElement>('[role="option"]')];
  }

  get #chosen(): HTMLElement | undefined {
    return this.#options.find((option) => option.ariaSelected === 'true');
  }

  #later(): void {
    clearTimeout(this.#waiting);
    this.#asking?.abort();
    const text = this.#input.value.toLowerCase().trim().replace(/\s+/g, ' ');
    const known = this.#known.get(text);
    if (known) return this.#show(known);
    if (!text.split(' ').some((word) => word.length >= MIN_LETTERS)) return this.#showRecent(text);
    this.#waiting = setTimeout(() => void this.#ask(text), PAUSE);
  }

  async #ask(text: string): Promise<void> {
    const asking = (this.#asking = new AbortController());
    try {
      const answer = await fetch(`/api/search/suggestions?${new URLSearchParams({ q: text })}`, {
        credentials: 'same-origin',
        signal: asking.signal,
      });
      // Without suggestions it is an ordinary search field: Enter searches.
      if (!answer.ok) return this.#close();
      const { groups } = (await answer.json()) as { readonly groups: readonly Group[] };
      const offered = this.#take === undefined ? groups : this.#takeable(groups);
      this.#known.set(text, offered);
      if (document.activeElement === this.#input) this.#show(offered);
    } catch {
      if (!asking.signal.aborted) this.#close();
    }
  }

  #takeable(groups: readonly Group[]): readonly Group[] {
    return groups
      .filter(({ kind }) => kind === this.#take)
      .map(({ label, suggestions }) => ({
        label,
        suggestions: suggestions.filter(({ path }) => path !== this.dataset['except']),
      }));
  }

  #showRecent(text: string): void {
    const found = (this.#take === undefined ? recentSearches() : []).filter((q) => q.toLowerCase().startsWith(text));
    const suggestions = found.map((q) => ({ label: q, path: searchPath(q), detail: null }));
    this.#show(suggestions.length > 0 ? [{ label: this.dataset['recent'] ?? '', suggestions }] : []);
    if (suggestions.length === 0) return;
    const clear = button(this.dataset['clear'] ?? '', () => {
      store.set(RECENT, undefined);
      this.#input.focus();
      this.#close();
    });
    clear.className = 'button quiet small';
    this.#popup.append(clear);
  }

  #show(groups: readonly Group[]): void {
    this.#choose(undefined);
    this.#list.replaceChildren(...groups.map((group, at) => this.#group(group, `${this.#list.id}-${at}`)));
    this.#popup.querySelector('button')?.remove();
    const count = this.#options.length;
    if (count === 0) return this.#close();
    this.#popup.hidden = false;
    this.#input.ariaExpanded = 'true';
    announce((this.dataset['count'] ?? '').replace('{count}', String(count)));
  }

  #group({ label: own, suggestions }: Group, id: string): HTMLElement {
    const label = this.#headings[own] ?? own;
    const group = document.createElement('div');
    Object.assign(group, { role: 'group', ariaLabel: label });
    const heading = Object.assign(document.createElement('p'), { className: 'suggestions-title', textContent: label });
    heading.ariaHidden = 'true';
    const options = suggestions.map(({ label: text, path, detail }, at) => {
      const option = Object.assign(document.createElement('a'), { id: `${id}-${at}`, href: path, tabIndex: -1 });
      Object.assign(option, { role: 'option', ariaSelected: 'false', dir: 'auto', textContent: text });
      if (detail) option.append(' ', Object.assign(document.createElement('small'), { textContent: detail }));
      return option;
    });
    group.append(heading, ...options);
    return group;
  }

  #key(event: KeyboardEvent): void {
    if (event.isComposing || this.#popup.hidden) return;
    const { key } = event;
    const chosen = this.#chosen;
    if (key === 'Escape') {
      event.preventDefault();
      this.#close();
    } else if (key === 'Enter' && chosen) {
      event.preventDefault();
      chosen.click();
    } else if (key === 'ArrowDown' || key === 'ArrowUp') {
      event.preventDefault();
      // After the last suggestion, and before the first, comes the text that was typed.
      const options = [undefined, ...this.#options];
      const at = options.indexOf(chosen) + (key === 'ArrowDown' ? 1 : -1);
      this.#choose(options.at(at % options.length));
    }
  }

  #choose(option: HTMLElement | undefined): void {
    for (const one of this.#options) one.ariaSelected = String(one === option);
    if (option) this.#input.setAttribute('aria-activedescendant', option.id);
    else this.#input.removeAttribute('aria-activedescendant');
    option?.scrollIntoView({ block: 'nearest' });
  }

  /** Fills in the path of the clicked suggestion instead of following it; opening it in a new tab still works. */
  #accept(event: MouseEvent): void {
    const chosen = (event.target as Element).closest('a');
    if (!chosen || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.#input.value = chosen.getAttribute('href')!;
    this.#close();
  }

  #close(): void {
    clearTimeout(this.#waiting);
    this.#choose(undefined);
    this.#popup.hidden = true;
    this.#input.ariaExpanded = 'false';
  }

  #remember(): void {
    const q = this.#input.value.trim();
    if (q === '') return;
    const others = recentSearches().filter((other) => other !== q);
    store.set(RECENT, JSON.stringify([q, ...others].slice(0, MOST_RECENT)));
  }
}
define('x-search', SearchBox);
