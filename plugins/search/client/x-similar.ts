import { announce, api, define, toFragment } from '@forum/client';

/** Milliseconds without a key until it asks. */
const PAUSE = 400;
const MIN_LETTERS = 3;

/** Discussions whose titles are like the one that is typed above it. */
class SimilarDiscussions extends HTMLElement {
  #field: HTMLInputElement | undefined;
  #asked = '';
  /** Whoever closed the list keeps it closed. */
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
    // Also when one comes back to it: an answer that came meanwhile was not shown.
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
      // Whoever writes elsewhere in the form meanwhile would see their field move.
      if (signal.aborted || document.activeElement !== this.#field) return;
      this.#asked = title;
      this.#show(toFragment(html));
    } catch {
      // There is nothing to compare with then.
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
