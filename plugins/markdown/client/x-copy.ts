import { announce, button, define, t } from '@forum/client';

/** Milliseconds for which the button says that it worked. */
const DONE = 2_000;

/** Copies the code it stands above. */
class CopyButton extends HTMLElement {
  connectedCallback(): void {
    // Without https there is no clipboard.
    if (this.firstChild || !('clipboard' in navigator)) return;
    const copy = button(t('copy'), () => void this.#copy(copy));
    copy.className = 'button quiet small';
    this.append(copy);
  }

  async #copy(copy: HTMLButtonElement): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.closest('figure')?.querySelector('code')?.textContent ?? '');
      announce(t('copied'));
      copy.textContent = t('copied');
    } catch {
      copy.textContent = t('failed');
    }
    setTimeout(() => (copy.textContent = t('copy')), DONE);
  }
}
define('x-copy', CopyButton);
