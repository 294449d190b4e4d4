import { announce, button, define, t } from '@forum/client';

/** Milliseconds for which the button confirms that the code was copied. */
const DONE = 2_000;

/** Copies the code below it. */
class CopyButton extends HTMLElement {
  connectedCallback(): void {
    // The clipboard API requires https.
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
