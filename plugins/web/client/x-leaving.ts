import { define } from '@forum/client';

/** Fields whose text is saved as a draft. */
const KEPT = 'x-composer[data-draft]:not([data-draft=""])';

/**
 * Makes the browser ask before leaving a page with text that was neither sent nor saved as a draft. The `beforeunload`
 * listener is added only once text is written, because it may keep the page out of the back/forward cache.
 */
class Leaving extends HTMLElement {
  #disconnected: AbortController | undefined;
  /** Forms that were sent; further input in one of them is asked about again. */
  readonly #sent = new Set<HTMLFormElement>();

  connectedCallback(): void {
    this.#disconnected = new AbortController();
    const { signal } = this.#disconnected;
    const begin = (): void => addEventListener('beforeunload', this.#ask, { signal });
    if (isWritten()) begin();
    document.addEventListener(
      'input',
      ({ target }) => {
        if (!(target instanceof HTMLTextAreaElement)) return;
        if (target.form) this.#sent.delete(target.form);
        begin();
      },
      { signal },
    );
    // A form submitted by script has not been accepted yet.
    document.addEventListener('submit', (event) => event.defaultPrevented || this.#settle(event.target), { signal });
    document.addEventListener('forum:sent', ({ target }) => this.#settle(target), { signal });
  }

  disconnectedCallback(): void {
    this.#disconnected?.abort();
  }

  #settle(form: EventTarget | null): void {
    this.#sent.add(form as HTMLFormElement);
  }

  readonly #ask = (event: Event): void => {
    if (isWritten(this.#sent)) event.preventDefault();
    else removeEventListener('beforeunload', this.#ask);
  };
}

/** Whether any text differs from what the server sent, has no draft, and is in none of these forms. */
function isWritten(sent: ReadonlySet<HTMLFormElement> = new Set()): boolean {
  const areas = document.querySelectorAll<HTMLTextAreaElement>('form[method="post"] textarea');
  return [...areas].some(
    (area) => area.value !== area.defaultValue && !area.closest(KEPT) && !(area.form && sent.has(area.form)),
  );
}
define('x-leaving', Leaving);
