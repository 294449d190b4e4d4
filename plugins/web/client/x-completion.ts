import { define, insertText, loadElement, type Completion, type CompletionSource } from '@forum/client';
import { letterBox, placeAt } from './parts/caret.ts';
import { endsInCode } from './parts/lists.ts';

/** Milliseconds without input before a source is queried. */
const PAUSE = 150;
/** The maximum number of suggestions shown, and of letters after a trigger. */
const MOST = 8;
const LONGEST = 60;

/**
 * If text before the trigger ends like this, the trigger is part of a word: no suggestions in email addresses or times
 * of day.
 */
const BEFORE = /[\p{L}\p{N}\p{M}_/@.&:#\\-]$/u;
const WORD = /^[\p{L}\p{N}\p{M}_.+-]*$/u;
const WORDS = /^[^\s\][\n][^\][\n]*$/;
/** Keys that move the caret elsewhere. */
const LEAVING = new Set(['ArrowLeft', 'ArrowRight', 'Home', 'End', 'PageUp', 'PageDown']);

interface Typed {
  readonly source: HTMLElement;
  /** Position of its trigger. */
  readonly at: number;
  readonly text: string;
}

/**
 * Offers completions while the user types; its child elements are the sources. For assistive technology the field
 * remains a text field that points to the active option of a list, because a multi-line text is not a combobox.
 */
class CompletionList extends HTMLElement {
  readonly #list = Object.assign(document.createElement('ul'), { className: 'completions', popover: 'manual' });
  #area: HTMLTextAreaElement | undefined;
  #typed: Typed | undefined;
  #offered: readonly Completion[] = [];
  #chosen = 0;
  /** Position of the trigger whose list was closed with Escape. */
  #dismissed = -1;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #asking: AbortController | undefined;
  /** Position of the trigger in the field's text; measured again only for another trigger. */
  #letter: DOMRect | undefined;
  readonly #follow = (): void => placeAt(this.#list, this.#area!, this.#letter!);
  readonly #reflow = (): void => {
    this.#letter = letterBox(this.#area!, this.#typed!.at);
    this.#follow();
  };

  connectedCallback(): void {
    const composer = this.parentElement;
    const area = composer?.querySelector('textarea');
    if (!composer || !area || this.#area) return;
    this.#area = area;
    Object.assign(this.#list, { id: `${area.id}-completions`, role: 'listbox', ariaLabel: this.dataset['label'] });
    composer.append(this.#list);
    Object.assign(area, { ariaAutoComplete: 'list', ariaHasPopup: 'listbox', autocomplete: 'off' });
    area.addEventListener('input', (event) => (event as InputEvent).isComposing || this.#look());
    area.addEventListener('compositionstart', () => this.#close());
    area.addEventListener('compositionend', () => this.#look());
    for (const leaving of ['blur', 'pointerdown']) area.addEventListener(leaving, () => this.#close());
    // Runs before other listeners on the field, because some keys belong to the list while it is open.
    composer.addEventListener('keydown', (event) => this.#key(event), { capture: true });
    // Keeps the focus in the field.
    this.#list.addEventListener('mousedown', (event) => event.preventDefault());
    this.#list.addEventListener('click', ({ target }) => {
      const at = [...this.#list.children].indexOf((target as Element).closest('li')!);
      if (at >= 0) this.#accept(at);
    });
    // Text that was typed before this module loaded.
    if (document.activeElement === area) this.#look();
  }

  disconnectedCallback(): void {
    this.#close();
  }

  #look(): void {
    clearTimeout(this.#waiting);
    this.#asking?.abort();
    const typed = this.#read();
    if (typed?.at !== this.#dismissed) this.#dismissed = -1;
    if (!typed || this.#dismissed >= 0) return this.#close();
    // Until new suggestions arrive, the old ones stay as far as they match the text.
    const same = typed.source === this.#typed?.source && typed.at === this.#typed.at;
    const low = typed.text.toLowerCase();
    this.#show(typed, same ? this.#offered.filter(({ label }) => label.toLowerCase().includes(low)) : []);
    this.#waiting = setTimeout(() => void this.#ask(typed), PAUSE);
  }

  /** The last trigger before the caret with the text typed after it. */
  #read(): Typed | undefined {
    const { value, selectionStart: caret, selectionEnd } = this.#area!;
    if (caret !== selectionEnd) return undefined;
    const line = value.slice(Math.max(value.lastIndexOf('\n', caret - 1) + 1, caret - LONGEST), caret);
    const found = ([...this.children] as HTMLElement[]).flatMap((source): Typed[] => {
      const { trigger = '', words } = source.dataset;
      const at = line.lastIndexOf(trigger);
      const text = line.slice(at + trigger.length);
      const fits = (words === undefined ? WORD : WORDS).test(text) && !BEFORE.test(line.slice(0, Math.max(at, 0)));
      return at >= 0 && fits ? [{ source, at: caret - line.length + at, text }] : [];
    });
    const last = found.toSorted((a, b) => b.at - a.at)[0];
    return last && !endsInCode(value.slice(0, last.at)) ? last : undefined;
  }

  async #ask(typed: Typed): Promise<void> {
    const { signal } = (this.#asking = new AbortController());
    try {
      await loadElement(typed.source.localName);
      const found = await (typed.source as CompletionSource).complete(typed.text, signal);
      if (!signal.aborted) this.#show(typed, found.slice(0, MOST));
    } catch {
      // Without suggestions, the user simply types the whole word.
      if (!signal.aborted) this.#close();
    }
  }

  #show(typed: Typed, offered: readonly Completion[]): void {
    if (offered.length === 0 || typed.at !== this.#typed?.at) this.#hide();
    this.#typed = typed;
    this.#offered = offered;
    if (offered.length === 0) return;
    this.#list.replaceChildren(...offered.map((one, at) => entryOf(one, `${this.#list.id}-${at}`)));
    this.#area!.setAttribute('aria-controls', this.#list.id);
    this.#choose(0);
    // Its position is measured only once, when it opens.
    if (this.#list.matches(':popover-open')) return void requestAnimationFrame(this.#follow);
    this.#list.showPopover();
    addEventListener('scroll', this.#follow, { capture: true, passive: true });
    addEventListener('resize', this.#reflow);
    this.#reflow();
  }

  #choose(at: number): void {
    this.#chosen = at;
    for (const [index, entry] of [...this.#list.children].entries()) entry.ariaSelected = String(index === at);
    this.#area!.setAttribute('aria-activedescendant', this.#list.children[at]!.id);
  }

  #key(event: KeyboardEvent): void {
    if (event.isComposing || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    if (event.target !== this.#area || !this.#list.matches(':popover-open')) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (LEAVING.has(event.key)) return this.#close();
    if (step) {
      this.#choose((this.#chosen + step + this.#offered.length) % this.#offered.length);
      this.#list.children[this.#chosen]!.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter' || event.key === 'Tab') this.#accept(this.#chosen);
    else if (event.key === 'Escape') this.#dismiss();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #accept(index: number): void {
    const [area, chosen] = [this.#area!, this.#offered[index]!];
    const { at } = this.#typed!;
    const { value, selectionStart: caret } = area;
    this.#close();
    insertText(area, chosen.text + (value[caret] === ' ' ? '' : ' '), at, caret);
  }

  #dismiss(): void {
    this.#dismissed = this.#typed?.at ?? -1;
    this.#close();
  }

  #close(): void {
    clearTimeout(this.#waiting);
    this.#asking?.abort();
    this.#hide();
    this.#typed = undefined;
    this.#offered = [];
  }

  #hide(): void {
    if (!this.#list.matches(':popover-open')) return;
    this.#list.hidePopover();
    for (const name of ['aria-controls', 'aria-activedescendant']) this.#area!.removeAttribute(name);
    removeEventListener('scroll', this.#follow, { capture: true });
    removeEventListener('resize', this.#reflow);
  }
}

function entryOf({ label, hint, sign }: Completion, id: string): HTMLElement {
  const entry = Object.assign(document.createElement('li'), { className: 'completion', id, role: 'option' });
  const part = (text: string | undefined, className: string): void => {
    if (!text) return;
    const made = Object.assign(document.createElement('span'), { className, textContent: text, dir: 'auto' });
    if (className === 'completion-sign') made.ariaHidden = 'true';
    entry.append(made);
  };
  part(sign, 'completion-sign');
  part(label, 'completion-label');
  part(hint, 'completion-hint');
  return entry;
}
define('x-completion', CompletionList);
