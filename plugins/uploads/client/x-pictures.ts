import { button, define } from '@forum/client';

/**
 * Shows the pictures of its post enlarged, in a dialog. It finds them by their links, which open the files without
 * scripts.
 */
class PictureViewer extends HTMLElement {
  #post: Element | null = null;
  #links: readonly HTMLAnchorElement[] = [];
  #at = 0;
  #dialog: HTMLDialogElement | undefined;
  readonly #picture = document.createElement('img');
  readonly #caption = document.createElement('figcaption');
  readonly #position = document.createElement('span');
  readonly #file = document.createElement('a');
  readonly #previous = this.#button('previous', () => this.#step(-1));
  readonly #next = this.#button('next', () => this.#step(1));
  readonly #zoom = this.#button('larger', () => this.#resize());

  readonly #click = (event: Event): void => {
    const { button: pressed, ctrlKey, metaKey, shiftKey, altKey, target } = event as MouseEvent;
    const link = target instanceof Element ? target.closest<HTMLAnchorElement>('a.picture') : null;
    // Leaves clicks for a new tab or a download to the browser.
    if (!link || pressed !== 0 || ctrlKey || metaKey || shiftKey || altKey) return;
    event.preventDefault();
    this.#open(link);
  };

  connectedCallback(): void {
    this.#post = this.closest('article');
    this.#post?.addEventListener('click', this.#click);
  }

  disconnectedCallback(): void {
    this.#post?.removeEventListener('click', this.#click);
    this.#dialog?.remove();
    this.#dialog = undefined;
  }

  #button(text: string, run: () => void): HTMLButtonElement {
    const made = button('', run);
    made.className = 'button small';
    made.dataset['text'] = text;
    return made;
  }

  #open(link: HTMLAnchorElement): void {
    this.#links = [...(this.#post?.querySelectorAll<HTMLAnchorElement>('.prose a.picture') ?? [])];
    this.#at = Math.max(0, this.#links.indexOf(link));
    this.#dialog ??= this.#build();
    this.#show();
    this.#dialog.showModal();
  }

  #build(): HTMLDialogElement {
    const dialog = document.createElement('dialog');
    dialog.className = 'pictures';
    dialog.ariaLabel = this.dataset['label'] ?? '';
    const close = this.#button('close', () => dialog.close());
    for (const one of [this.#previous, this.#next, this.#zoom, close])
      one.textContent = this.dataset[one.dataset['text'] ?? ''] ?? '';
    this.#file.className = 'button small';
    this.#file.textContent = this.dataset['file'] ?? '';
    this.#position.setAttribute('role', 'status');
    const bar = document.createElement('div');
    bar.className = 'pictures-bar';
    bar.append(this.#position, this.#previous, this.#next, this.#zoom, this.#file, close);
    const figure = document.createElement('figure');
    // Focusable, so that arrow keys scroll it at full size.
    figure.tabIndex = 0;
    figure.append(this.#picture, this.#caption);
    dialog.append(bar, figure);
    dialog.addEventListener('keydown', (event) => this.#key(event));
    // Closes on a click beside the picture, not on it.
    dialog.addEventListener('click', ({ target }) => {
      if (target === dialog || target === figure) dialog.close();
    });
    this.#picture.addEventListener('click', () => this.#resize());
    dialog.addEventListener('close', () => this.#links[this.#at]?.focus());
    document.body.append(dialog);
    return dialog;
  }

  #key(event: KeyboardEvent): void {
    // At full size the arrow keys scroll the picture.
    const larger = this.#dialog?.classList.contains('larger');
    const forward = getComputedStyle(this).direction === 'rtl' ? 'ArrowLeft' : 'ArrowRight';
    if (event.key === '+' || event.key === '-') this.#resize(event.key === '+');
    else if (!larger && /^Arrow(?:Left|Right)$/.test(event.key)) this.#step(event.key === forward ? 1 : -1);
    else return;
    event.preventDefault();
  }

  #step(by: number): void {
    this.#at = (this.#at + by + this.#links.length) % this.#links.length;
    this.#show();
  }

  #show(): void {
    const link = this.#links[this.#at];
    const small = link?.querySelector('img');
    if (!link || !small) return;
    // Sets its size first, so that the dialog keeps its shape while the picture loads.
    for (const name of ['width', 'height']) this.#picture.setAttribute(name, small.getAttribute(name) ?? '');
    this.#picture.alt = small.alt;
    this.#picture.src = link.href;
    this.#caption.textContent = small.alt;
    this.#file.href = link.href;
    const several = this.#links.length > 1;
    this.#position.textContent = several ? `${this.#at + 1} / ${this.#links.length}` : '';
    this.#previous.hidden = !several;
    this.#next.hidden = !several;
    this.#resize(false);
  }

  #resize(larger = !this.#dialog?.classList.contains('larger')): void {
    this.#dialog?.classList.toggle('larger', larger);
    this.#zoom.textContent = this.dataset[larger ? 'smaller' : 'larger'] ?? '';
  }
}
define('x-pictures', PictureViewer);
