import { define, toast } from '@forum/client';

/** Its link opens the device's own dialog for sharing, or is copied where there is none. */
class Share extends HTMLElement {
  connectedCallback(): void {
    this.querySelector('a')?.addEventListener('click', (event) => {
      const { ctrlKey, metaKey, shiftKey, altKey, currentTarget } = event;
      if (ctrlKey || metaKey || shiftKey || altKey) return;
      const { href } = currentTarget as HTMLAnchorElement;
      // Neither is there without https: then the link is a link.
      if (!('share' in navigator || 'clipboard' in navigator)) return;
      event.preventDefault();
      void this.#share(href).catch(() => this.#end(`${this.dataset['refused'] ?? ''} ${href}`));
    });
  }

  async #share(url: string): Promise<void> {
    const data = { title: this.dataset['title'] ?? document.querySelector('h1')?.textContent ?? '', url };
    if (navigator.canShare?.(data)) {
      await navigator.share(data).catch((error: Error) => {
        // Whoever closes the dialog has not changed their mind about reading on.
        if (error.name !== 'AbortError') throw error;
      });
      return;
    }
    await navigator.clipboard.writeText(url);
    this.#end(this.dataset['done']);
  }

  /** The menu of a post, in which it may stand, has done its work. */
  #end(text = ''): void {
    this.closest<HTMLElement>('[popover]')?.hidePopover();
    toast(text);
  }
}
define('x-share', Share);
