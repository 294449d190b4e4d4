import { page } from '@forum/client';

/** Elements in which letters are typed, or select something. */
const TYPED =
  'input:not([type="checkbox"]), textarea, select, audio, video, [contenteditable], [role="listbox"], [role="menu"], dialog[open]';

/** Handles a key; returns false if it is not a shortcut of this page. */
type Handle = (key: string) => boolean;
/** A module of its own, so that it is only loaded when a key is pressed. */
const KEYBOARD = './keyboard.js';

/** Listens for single-key shortcuts unless the visitor has switched them off. */
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
        // After a shortcut that focuses a field, the following keys are text for it.
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
    // Until the shortcuts are known, every key might be one: some browsers open their own search on "/".
    event.preventDefault();
    if (early.push(key) === 1) load().catch(() => undefined);
  });
}
