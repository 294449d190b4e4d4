import { announce, button, define, t } from '@forum/client';

/** Milliseconds for which a button says that it worked. */
const DONE = 2_000;

/** Adds to the link that saves backup codes, which works by itself, buttons that copy and print them. */
class BackupCodes extends HTMLElement {
  connectedCallback(): void {
    if (this.querySelector('button')) return;
    const print = button(this.dataset['print'] ?? '', () => globalThis.print());
    const copy = button(t('copy'), () => void this.#copy(copy));
    for (const made of [copy, print]) made.className = 'button';
    // Without https there is no clipboard.
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
