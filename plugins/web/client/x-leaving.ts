import { define } from '@forum/client';

/** Where what is written is kept by itself. */
const KEPT = 'x-composer[data-draft]:not([data-draft=""])';

/**
 * Has the browser ask before a page is left on which a text was written that is kept nowhere and was not sent. Until
 * somebody writes one, nothing is in the way of bringing the page back as it was left.
 */
class Leaving extends HTMLElement {
  #disconnected: AbortController | undefined;
  /** Forms as they were sent last: what is written in one afterwards is asked about again. */
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
    // A form that script sends is not accepted yet.
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

/** Whether a text is not as the server sent it, kept nowhere, and in none of these forms. */
function isWritten(sent: ReadonlySet<HTMLFormElement> = new Set()): boolean {
  const areas = document.querySelectorAll<HTMLTextAreaElement>('form[method="post"] textarea');
  return [...areas].some(
    (area) => area.value !== area.defaultValue && !area.closest(KEPT) && !(area.form && sent.has(area.form)),
  );
}
define('x-leaving', Leaving);
