import { button, define, fragment, loadElement, type PageForm } from '@forum/client';
import type { Dock } from './parts/dock.ts';
import { focusOn, readPost } from './parts/posts.ts';
import { answer, answeredBy, appendTo } from './parts/reply-text.ts';

/** Events of the form after which it may answer another post. */
const CHANGES = ['input', 'change', 'reset'];

/**
 * Keeps a form at the bottom of the window while the user reads on. This is either the reply form, which returns to its
 * place below the posts when closed, or the form of an edited post, which is put away.
 */
class FormDock extends HTMLElement implements Dock {
  readonly #head = document.createElement('p');
  readonly #title = document.createElement('span');
  readonly #remove = button(this.dataset['remove'] ?? '', () => this.#answerNone());
  /** Panels of posts being edited, by the URL of their form. */
  readonly #edited = new Map<string, Promise<HTMLElement>>();
  #panel: HTMLElement | undefined;
  #opener: HTMLElement | undefined;
  /** The link whose form is being loaded. */
  #opening: HTMLElement | undefined;
  readonly #size = new ResizeObserver(([entry]) =>
    document.documentElement.style.setProperty('--docked', `${(entry!.target as HTMLElement).offsetHeight}px`),
  );

  connectedCallback(): void {
    const close = button(this.dataset['close'] ?? '', () => this.#close());
    for (const made of [this.#remove, close]) made.className = 'button quiet small';
    this.#head.className = 'dock-head';
    this.#head.replaceChildren(this.#title, this.#remove, close);
    for (const change of CHANGES) this.#reply.addEventListener(change, this.#say);
  }

  disconnectedCallback(): void {
    // If the page was replaced by another one, nothing is docked there.
    document.documentElement.classList.remove('docking');
    this.#size.disconnect();
  }

  async open(link: HTMLAnchorElement): Promise<void> {
    // A second click would insert the quotation twice.
    if (this.#opening === link) return;
    this.#opener = this.#opening = link;
    const asked = link.pathname.endsWith('/edit') ? this.#editing(link.pathname) : this.#replying(link);
    const panel = await asked.finally(() => (this.#opening = undefined));
    // Another form was requested in the meantime, and may already contain text.
    if (this.#opener !== link) return;
    if (panel !== this.#panel) {
      this.#undock();
      this.#dock(panel);
    }
    this.#say();
    panel.querySelector('textarea')!.focus({ preventScroll: true });
  }

  get #reply(): HTMLElement {
    return this.nextElementSibling as HTMLElement;
  }

  async #replying({ href }: HTMLAnchorElement): Promise<HTMLElement> {
    const area = this.#reply.querySelector('textarea')!;
    const { searchParams: asked } = new URL(href);
    const [to, quoted] = [asked.get('to') ?? asked.get('quote'), asked.has('quote')];
    // Wait for `x-composer`: it restores the draft first.
    const [page] = await Promise.all([quoted ? fragment(href) : undefined, loadElement('x-composer')]);
    if (page) appendTo(area, page.querySelector('textarea')?.value ?? '');
    // A reply that already contains text keeps the post it answers, unless another one is given.
    if (to !== null || area.value.trim() === '') answer(area.form!, to);
    return this.#reply;
  }

  #editing(path: string): Promise<HTMLElement> {
    const known = this.#edited.get(path);
    if (known) return known;
    const made = this.#make(path);
    this.#edited.set(path, made);
    made.catch(() => this.#edited.delete(path));
    return made;
  }

  async #make(path: string): Promise<HTMLElement> {
    await Promise.all([loadElement('x-form'), loadElement('x-composer')]);
    const brought = document.createElement('x-form') as PageForm;
    const title = await brought.bring(path);
    const panel = Object.assign(document.createElement('section'), { className: 'reply', ariaLabel: title });
    panel.append(brought);
    const form = brought.querySelector('form')!;
    form.addEventListener('forum:sent', () => {
      form.reset();
      // Another form may have been docked in the meantime.
      if (panel === this.#panel) this.#close();
      else this.#putAway(panel);
      /** An edit of a post on the page was saved; `detail` is the post’s number. */
      document.dispatchEvent(new CustomEvent('discussions:edited', { detail: postAt(path)?.dataset['number'] }));
    });
    form.querySelector('.composer-foot a')?.addEventListener('click', (event) => {
      event.preventDefault();
      // Resetting the form discards its draft.
      if (brought.isChanged) form.reset();
      this.#close();
    });
    return panel;
  }

  #dock(panel: HTMLElement): void {
    this.#panel = panel;
    if (!panel.isConnected) this.#reply.after(panel);
    panel.hidden = false;
    panel.classList.add('docked');
    document.documentElement.classList.add('docking');
    panel.prepend(this.#head);
    panel.addEventListener('keydown', this.#key);
    this.#size.observe(panel);
  }

  #undock(): void {
    const panel = this.#panel;
    if (!panel) return;
    this.#panel = undefined;
    panel.classList.remove('docked');
    document.documentElement.classList.remove('docking');
    panel.removeEventListener('keydown', this.#key);
    this.#head.remove();
    this.#size.disconnect();
    if (panel !== this.#reply) this.#putAway(panel);
  }

  /**
   * Hides the panel if it contains changes, so that they are there when it is opened again. Otherwise it is removed,
   * and the form is fetched again next time with the current text.
   */
  #putAway(panel: HTMLElement): void {
    panel.hidden = true;
    const brought = panel.querySelector<PageForm>('x-form')!;
    if (brought.isChanged) return;
    panel.remove();
    this.#edited.delete(brought.querySelector('form')!.getAttribute('action')!);
  }

  #close(): void {
    const post = this.#post;
    this.#undock();
    // Keyboard navigation should not continue from the bar below or from a menu that has closed.
    if (this.#opener?.closest('.post')) this.#opener.focus({ preventScroll: true });
    else focusOn(post ?? readPost()!);
  }

  /** The post being answered or edited. */
  get #post(): HTMLElement | null {
    const form = this.#panel!.querySelector('form')!;
    if (this.#panel !== this.#reply) return postAt(form.getAttribute('action')!);
    return document.getElementById(`post-${answeredBy(form)}`);
  }

  /** Shows which post is being answered or edited. */
  readonly #say = (): void => {
    if (!this.#panel) return;
    const post = this.#post;
    const author = post?.querySelector('.post-by bdi')?.textContent;
    const answers = this.dataset[author ? 'answers' : 'label'] ?? '';
    const text = this.#panel === this.#reply ? answers : (this.#panel.ariaLabel ?? '');
    const number = post?.dataset['number'] ?? '';
    this.#title.textContent = text.replace('{author}', () => author ?? '').replace('{number}', number);
    this.#remove.hidden = this.#panel !== this.#reply || !author;
    this.#remove.ariaLabel = `${this.#remove.textContent}: ${this.#title.textContent}`;
  };

  /** Makes the reply, and thus its draft, one to the discussion instead of a post. */
  #answerNone(): void {
    const area = this.#reply.querySelector('textarea')!;
    answer(area.form!, null);
    area.dispatchEvent(new Event('input', { bubbles: true }));
    area.focus({ preventScroll: true });
  }

  /** Closes the dock on Escape, except if a list or menu is open in it, or an input method is composing text. */
  readonly #key = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || event.defaultPrevented || event.isComposing) return;
    if (!document.querySelector(':popover-open')) this.#close();
  };
}

/** The post whose edit form has this URL. */
const postAt = (path: string): HTMLElement | null =>
  document.querySelector(`.post [data-menu][href="${path.replace(/edit$/, 'menu')}"]`)?.closest<HTMLElement>('.post') ??
  null;

define('x-dock', FormDock);
