import { define, loadElement, t, toast, type Bar } from '@forum/client';

/** Says once that pages are made of other files by now, and leaves it to the reader when to load this one again. */
class Updated extends HTMLElement {
  readonly #tell = async (): Promise<void> => {
    try {
      await loadElement('x-bar');
      (document.createElement('x-bar') as Bar).tell(t('updated'), t('reload'), () => location.reload());
    } catch {
      toast(t('updated'));
    }
  };

  connectedCallback(): void {
    document.addEventListener('parley:site.updated', this.#tell, { once: true });
  }

  disconnectedCallback(): void {
    document.removeEventListener('parley:site.updated', this.#tell);
  }
}
define('x-updated', Updated);
