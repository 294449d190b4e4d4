import { loadElement } from '@forum/client';

/** Milliseconds for which a press waits for a module: whoever waits longer is better served by a page of its own. */
const TIMEOUT = 1_500;

/**
 * Holds presses back that an element answers in place of the browser, while its module is on its way, and makes them then;
 * `presses` are the selectors of what is pressed, by tag. Where none comes, the browser does what it does without script.
 */
export function holdPresses(presses: ReadonlyMap<string, string>): void {
  let last: MouseEvent | undefined;
  let made: MouseEvent | undefined;
  const hold = (event: MouseEvent): void => {
    if (event === made) return;
    // What is pressed meanwhile counts, be it the same once more.
    last = event;
    // Such a press opens a tab, a window or a file.
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
