import { announce, button, define, fragment, t } from '@forum/client';

/** Events that change a list. */
const EVENTS = ['post.created', 'discussion.created', 'discussion.updated', 'discussion.deleted', 'posts.moved'];
/**
 * Milliseconds after which the page checks for changes, and the maximum to which this delay grows while more events
 * follow.
 */
const FIRST = 2_000;
const LONGEST = 300_000;

/** Identifies a row and the state of its discussion. */
const stateOf = (row: Element): string =>
  `${row.getAttribute('aria-labelledby')} ${(row as HTMLElement).dataset['last']}`;
const rowsIn = (root: ParentNode): readonly Element[] => [...root.querySelectorAll('.feed .card')];

/**
 * Announces that the list has new or updated discussions, and shows them on request: rows never move without being
 * asked for.
 */
class ListChanges extends HTMLElement {
  #gone: AbortController | undefined;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #delay = FIRST;
  #changed = false;

  connectedCallback(): void {
    const { signal } = (this.#gone = new AbortController());
    for (const name of EVENTS)
      document.addEventListener(
        `parley:${name}`,
        () => {
          this.#changed = true;
          this.#wait();
        },
        { signal },
      );
    document.addEventListener('visibilitychange', () => this.#wait(), { signal });
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
    clearTimeout(this.#waiting);
  }

  /** Pages check at different times, and less and less often while the user does not ask for the changes. */
  #wait(): void {
    if (!this.#changed || document.hidden) return;
    this.#waiting ??= setTimeout(() => void this.#look(), this.#delay * (1 + Math.random()));
  }

  async #look(): Promise<void> {
    this.#waiting = undefined;
    if (document.hidden) return;
    this.#changed = false;
    this.#delay = Math.min(this.#delay * 2, LONGEST);
    const part = await fragment(location.href).catch(() => undefined);
    if (!part) return;
    const shown = new Set(rowsIn(document).map(stateOf));
    const count = rowsIn(part).filter((row) => !shown.has(stateOf(row))).length;
    const text = (this.dataset['text'] ?? '').replace('{count}', String(count));
    const show = Object.assign(
      button(text, () => void this.#show()),
      { className: 'button primary' },
    );
    this.querySelector('p')?.replaceChildren(...(count > 0 ? [show] : []));
  }

  async #show(): Promise<void> {
    try {
      const part = await fragment(location.href);
      const main = this.parentElement!;
      if (!main.querySelector('.feed')) return location.reload();
      main.querySelector('.feed-more')?.remove();
      // The pager goes first, because the list looks for it.
      for (const name of ['.pager', '.feed']) {
        const [now, before] = [part.querySelector(name), main.querySelector(name)];
        if (now) before?.replaceWith(now);
      }
      this.#delay = FIRST;
      this.querySelector('p')?.replaceChildren();
      scrollTo({ top: 0, behavior: 'instant' });
      main.querySelector<HTMLElement>('.card-title a')?.focus({ preventScroll: true });
    } catch {
      announce(t('failed'));
    }
  }
}
define('x-list-changes', ListChanges);
