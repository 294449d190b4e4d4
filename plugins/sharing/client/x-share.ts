import { define, toast } from '@forum/client';

/** Its link opens the device's share dialog, or is copied to the clipboard if there is none. */
class Share extends HTMLElement {
  connectedCallback(): void {
    this.querySelector('a')?.addEventListener('click', (event) => {
      const { ctrlKey, metaKey, shiftKey, altKey, currentTarget } = event;
      if (ctrlKey || metaKey || shiftKey || altKey) return;
      const { href } = currentTarget as HTMLAnchorElement;
      // Neither is available without HTTPS; the link then works as a link.
      if (!('share' in navigator || 'clipboard' in navigator)) return;
      event.preventDefault();
      void this.#share(href).catch(() => this.#end(`${this.#text('refused')} ${href}`));
    });
  }

  async #share(url: string): Promise<void> {
    const data = { title: this.dataset['title'] ?? document.querySelector('h1')?.textContent ?? '', url };
    if (navigator.canShare?.(data)) {
      await navigator.share(data).catch((error: Error) => {
        // Closing the dialog is not an error.
        if (error.name !== 'AbortError') throw error;
      });
      return;
    }
    await navigator.clipboard.writeText(url);
    this.#end(this.#text('done'));
  }

  /** Those on posts share the texts of the one at the head. */
  #text(name: 'done' | 'refused'): string {
    const own = this.dataset[name];
    return own ?? document.querySelector<HTMLElement>(`x-share[data-${name}]`)?.dataset[name] ?? '';
  }

  /** Closes the menu of the post, if the element is in one. */
  #end(text: string): void {
    this.closest<HTMLElement>('[popover]')?.hidePopover();
    toast(text);
  }
}
define('x-share', Share);
