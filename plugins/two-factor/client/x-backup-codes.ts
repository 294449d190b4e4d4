import { announce, button, define, t } from '@forum/client';

/** Milliseconds for which a button shows that it worked. */
const DONE = 2_000;

/** Adds copy and print buttons next to the download link, which works without JavaScript. */
class BackupCodes extends HTMLElement {
  connectedCallback(): void {
    if (this.querySelector('button')) return;
    const print = button(this.dataset['print'] ?? '', () => globalThis.print());
    const copy = button(t('copy'), () => void this.#copy(copy));
    for (const made of [copy, print]) made.className = 'button';
    // The clipboard is available only over HTTPS.
    if ('clipboard' in navigator) this.append(copy, ' ');
    this.append(print);
  }

  async #copy(copy: HTMLButtonElement): Promise<void> {
    const codes = this.parentElement?.querySelectorAll('.two-factor-codes li') ?? [];
    try {
      await navigator.clipboard.writeText([...codes].map(({ textContent }) => textContent).join('\n'));
      announce(t('copied'));
      copy.textContent = t('copied');
    } catch {
      copy.textContent = t('failed');
    }
    setTimeout(() => (copy.textContent = t('copy')), DONE);
  }
}
define('x-backup-codes', BackupCodes);
