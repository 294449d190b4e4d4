import { loadElement } from '@forum/client';

/** Milliseconds for which a click waits for a module: beyond that, loading a new page serves the user better. */
const TIMEOUT = 1_500;

/**
 * Holds back clicks that an element handles instead of the browser while the element's module is loading, and repeats
 * them then; `presses` are the selectors of clickable elements, by tag. If the module does not load in time, the
 * browser does what it does without scripts.
 */
export function holdPresses(presses: ReadonlyMap<string, string>): void {
  let last: MouseEvent | undefined;
  let made: MouseEvent | undefined;
  const hold = (event: MouseEvent): void => {
    if (event === made) return;
    // A later click replaces an earlier one that is held back, even on the same target.
    last = event;
    // Such a click opens a tab, a window or a file.
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const target = event.target as Element;
    const loading = [...presses].flatMap(([tag, selector]) =>
      !customElements.get(tag) && target.closest(selector) ? [loadElement(tag)] : [],
    );
    if (loading.length === 0) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const late = new Promise((resolve) => setTimeout(resolve, TIMEOUT));
    void Promise.race([Promise.allSettled(loading), late]).then(() => {
      if (last === event) target.dispatchEvent((made = new MouseEvent('click', event)));
    });
  };
  document.addEventListener('click', hold, { capture: true });
}
