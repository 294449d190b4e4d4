import { announce, button, define, loadElement, t, toast } from '@forum/client';
import { dock } from './parts/dock.ts';
import type { markdownOf, quotation } from './quotation.ts';
import { answer, answeredBy, appendTo } from './parts/reply-text.ts';

/** Milliseconds for which the selection must stay unchanged. */
const PAUSE = 150;
/**
 * Distance in pixels below the selection, so that the selection menu of a phone does not cover the button, and from the
 * edges.
 */
const BELOW = 12;
const EDGE = 8;

/** A module of its own, so that it is only loaded when something is quoted. */
const QUOTATION = './quotation.js';
interface QuotationModule {
  readonly markdownOf: typeof markdownOf;
  readonly quotation: typeof quotation;
}

interface Selected {
  readonly post: HTMLElement;
  readonly prose: HTMLElement;
  readonly range: Range;
  readonly text: string;
}

/**
 * Inserts text selected in a post into the reply as a quotation, after what has already been written. The first
 * quotation opens the reply.
 */
class Quote extends HTMLElement {
  readonly #offer = Object.assign(document.createElement('div'), { className: 'quote-offer', popover: 'manual' });
  #selected: Selected | undefined;
  /** The selection that was quoted last, or is being quoted. */
  #quoted: Selected | undefined;
  /** The post that the reply answers because it was quoted. */
  #answered: string | null = null;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  readonly #later = (): void => {
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => this.#look(), PAUSE);
  };
  readonly #press = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') this.#hide();
    // Tab goes to the button from anywhere: after a selection by keyboard, no element of the text has the focus.
    if (event.key !== 'Tab' || event.shiftKey || !this.#offer.matches(':popover-open')) return;
    if (this.#offer.contains(document.activeElement) || document.activeElement?.matches('input, textarea')) return;
    event.preventDefault();
    this.#offer.querySelector('button')?.focus();
  };

  connectedCallback(): void {
    // Keeps the selection while the button is pressed.
    this.#offer.addEventListener('mousedown', (event) => event.preventDefault());
    document.addEventListener('selectionchange', this.#later);
    document.addEventListener('keydown', this.#press);
    this.#look();
  }

  disconnectedCallback(): void {
    document.removeEventListener('selectionchange', this.#later);
    document.removeEventListener('keydown', this.#press);
    this.#offer.remove();
  }

  #look(): void {
    const selected = selectedText();
    if (selected?.text === this.#selected?.text && selected?.post === this.#selected?.post) return;
    this.#hide();
    this.#selected = selected;
    if (selected) this.#show(this.dataset['label'] ?? '', () => void this.#quote());
  }

  /** Placed after the text of the post, where the Tab key continues. */
  #show(label: string, run: () => void): void {
    const { prose, range } = this.#selected!;
    const focused = this.#offer.contains(document.activeElement);
    const made = button(label, run);
    made.className = 'button small';
    this.#offer.replaceChildren(made);
    if (this.#offer.previousElementSibling !== prose) prose.after(this.#offer);
    if (!this.#offer.matches(':popover-open')) this.#offer.showPopover();
    if (focused) made.focus();
    const box = [...range.getClientRects()].at(-1) ?? range.getBoundingClientRect();
    const rtl = getComputedStyle(prose).direction === 'rtl';
    const start = (rtl ? box.left : box.right) - this.#offer.offsetWidth / 2;
    const most = document.documentElement.clientWidth - this.#offer.offsetWidth - EDGE;
    this.#offer.style.left = `${Math.max(EDGE, Math.min(start, most)) + scrollX}px`;
    this.#offer.style.top = `${box.bottom + BELOW + scrollY}px`;
  }

  #hide(): void {
    if (this.#offer.matches(':popover-open')) this.#offer.hidePopover();
    this.#selected = undefined;
  }

  /**
   * A reply that quotes a single post answers it, unless the user has chosen another one; a reply that quotes several
   * answers none.
   */
  #answer(form: HTMLFormElement, quoted: ReadonlySet<string>): void {
    if (answeredBy(form) !== this.#answered) return;
    this.#answered = quoted.size === 1 ? [...quoted][0]! : null;
    answer(form, this.#answered);
  }

  async #quote(): Promise<void> {
    const selected = this.#selected;
    const area = this.parentElement?.querySelector('textarea');
    if (!selected || !area || selected === this.#quoted) return;
    this.#quoted = selected;
    // Wait for `x-composer`: it restores the draft first.
    await loadElement('x-composer').catch(() => undefined);
    const quoted = await quotationOf(selected).catch(() => undefined);
    if (quoted === undefined) {
      this.#quoted = undefined;
      return toast(t('failed'));
    }
    const text = `${quoted}\n\n`;
    this.#answer(area.form!, quotedIn(area.value + text));
    appendTo(area, text);
    const done = this.dataset['done'] ?? '';
    if (this.#selected !== selected) return toast(done);
    announce(done);
    if (!area.closest('.docked') && dock()) {
      // Clears the selection, so that it is not offered again while the reply opens.
      document.getSelection()?.removeAllRanges();
      return this.#hide();
    }
    this.#show(this.dataset['go'] ?? '', () => {
      this.#hide();
      area.focus({ preventScroll: true });
      if (!area.closest('.docked')) area.scrollIntoView({ block: 'center' });
    });
  }
}

/** Numbers of the posts quoted in a reply; the URL of the first post has no number. */
const quotedIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/^> \[@[^\]]*\]\([^\s#]*(?:#post-(\d+))?\):/gm)].map(([, number = '1']) => number));

/** The selected text, if the selection lies within the text of a single post. */
function selectedText(): Selected | undefined {
  const selection = document.getSelection();
  if (!selection || selection.isCollapsed) return undefined;
  const { startContainer: start } = selection.getRangeAt(0);
  const prose = (start instanceof Element ? start : start.parentElement)?.closest<HTMLElement>('.prose');
  const post = prose?.closest<HTMLElement>('article[data-number]');
  const range = prose && within(prose, selection.getRangeAt(0));
  const text = selection.toString().trim();
  if (!post || !prose || !range) return undefined;
  return text !== '' || range.cloneContents().querySelector('img') ? { post, prose, range, text } : undefined;
}

/**
 * A triple click selects a paragraph up to the start of the next element, which is not part of the text; the quote
 * button may be in between.
 */
function within(prose: HTMLElement, selected: Range): Range | undefined {
  const range = selected.cloneRange();
  if (prose.contains(range.endContainer)) return range;
  range.setStartAfter(prose);
  const rest = range.cloneContents();
  rest.querySelector('.quote-offer')?.remove();
  range.setStart(selected.startContainer, selected.startOffset);
  range.setEnd(prose, prose.childNodes.length);
  return rest.textContent?.trim() === '' ? range : undefined;
}

/** Uses the same link as the quotation of a whole post, so that the quoted author is notified. */
async function quotationOf({ post, prose, range }: Selected): Promise<string> {
  // The page may change before the module is there.
  const selected = range.cloneRange();
  const { markdownOf: write, quotation: quote } = (await import(
    new URL(QUOTATION, import.meta.url).href
  )) as QuotationModule;
  // A mention needs the username, whichever name is displayed.
  const author = decodeURIComponent(post.querySelector('.post-by a')?.getAttribute('href')?.split('/').at(-1) ?? '');
  const path = post.querySelector('.post-link')?.getAttribute('href') ?? '';
  return quote(write(selected, prose), author, path);
}
define('x-quote', Quote);
