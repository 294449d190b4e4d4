import { announce, api, define, toFragment } from '@forum/client';

/** Milliseconds after the last key press before the list is fetched. */
const PAUSE = 400;
const MIN_LETTERS = 3;

/** Lists discussions with titles similar to the one being typed in the field above. */
class SimilarDiscussions extends HTMLElement {
  #field: HTMLInputElement | undefined;
  #asked = '';
  /** Once the user has closed the list, it stays closed. */
  #open = true;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #asking: AbortController | undefined;
  #gone: AbortController | undefined;

  connectedCallback(): void {
    const field = this.closest('form')?.elements.namedItem('title');
    if (!(field instanceof HTMLInputElement)) return;
    this.#field = field;
    this.#asked = field.defaultValue.trim();
    this.#gone = new AbortController();
    // Also on focus, because a response that arrived while the field was not focused was not shown.
    for (const type of ['input', 'focus'])
      field.addEventListener(type, () => this.#later(), { signal: this.#gone.signal });
    this.#later();
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
    this.#asking?.abort();
    clearTimeout(this.#waiting);
  }

  #later(): void {
    clearTimeout(this.#waiting);
    this.#asking?.abort();
    const title = this.#field!.value.trim();
    if (title !== this.#asked) this.#waiting = setTimeout(() => void this.#ask(title), PAUSE);
  }

  async #ask(title: string): Promise<void> {
    const { signal } = (this.#asking = new AbortController());
    const path = `/api/search/similar?${new URLSearchParams({ title })}`;
    try {
      const { html } =
        title.length < MIN_LETTERS ? { html: '' } : await api<{ html: string }>(path, undefined, 'GET', { signal });
      // If the user is writing elsewhere in the form by now, that field would move.
      if (signal.aborted || document.activeElement !== this.#field) return;
      this.#asked = title;
      this.#show(toFragment(html));
    } catch {
      // Then there are no suggestions.
    }
  }

  #show(found: DocumentFragment): void {
    const [before, list] = [this.querySelector('details'), found.querySelector('details')];
    this.#open = before?.open ?? this.#open;
    if (list) list.open = this.#open;
    this.replaceChildren(found);
    const [said, text] = [before, list].map((one) => one?.querySelector('summary')?.textContent);
    if (text && text !== said) announce(text);
  }
}
define('x-similar', SimilarDiscussions);
