import { page } from '@forum/client';

/** Where letters are typed, or chosen with. */
const TYPED =
  'input:not([type="checkbox"]), textarea, select, audio, video, [contenteditable], [role="listbox"], [role="menu"], dialog[open]';

/** What to do with a key; false where it is none of this page's. */
type Handle = (key: string) => boolean;
/** Beside this module; nobody loads it who presses no key. */
const KEYBOARD = './keyboard.js';

/** Listens for keys that do something by themselves, unless the visitor has switched them off. */
export function listenForKeys(): void {
  if (!page.keys) return;
  const early: string[] = [];
  let handle: Handle | undefined;
  const load = async (): Promise<void> => {
    try {
      const { loadKeyboard } = (await import(new URL(KEYBOARD, import.meta.url).href)) as {
        loadKeyboard(): Promise<Handle>;
      };
      handle = await loadKeyboard();
      for (const key of early)
        // Behind a key that leads to a field stands what is to be written there.
        if (document.activeElement?.closest(TYPED)) document.execCommand('insertText', false, key);
        else handle(key);
    } finally {
      early.length = 0;
    }
  };
  document.addEventListener('keydown', (event) => {
    const { key, target } = event;
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
    if (key === ' ' || [...key].length !== 1 || (target as Element | null)?.closest?.(TYPED)) return;
    if (handle) {
      if (handle(key)) event.preventDefault();
      return;
    }
    // Until it is known what keys there are: some browsers have a search of their own under "/".
    event.preventDefault();
    if (early.push(key) === 1) load().catch(() => undefined);
  });
}
