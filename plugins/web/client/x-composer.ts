import {
  announce,
  api,
  button,
  define,
  loadElement,
  t,
  toast,
  toFragment,
  type ComposerTool,
  type FoundDraft,
} from '@forum/client';
import { FormDraft } from './parts/drafts.ts';
import { continueList } from './parts/lists.ts';
import { apply, indent, type Mark } from './parts/markdown-marks.ts';
import { relativeTime } from './parts/times.ts';

/** Milliseconds after the last change until a draft is saved. */
const DRAFT_AFTER = 2_000;

/** Milliseconds after the last change until a preview beside the text is updated: the server renders 60 a minute. */
const PREVIEW_AFTER = 1_200;
/** Windows wide enough for a text and its preview side by side; the theme's style sheet uses the same width. */
const WIDE = '(min-width: 90rem)';

/** Shortcuts with Ctrl or Command; /keyboard lists them. */
const KEYS: Readonly<Record<string, Mark>> = { b: 'bold', i: 'italic', k: 'link' };

/**
 * The writing field with a toolbar, a preview rendered by the server, and a draft of its form that outlives the page.
 */
class Composer extends HTMLElement {
  #area!: HTMLTextAreaElement;
  #bar: HTMLElement | null = null;
  #draft: FormDraft | undefined;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #asking: AbortController | undefined;
  #following: ReturnType<typeof setTimeout> | undefined;
  /** The draft that was last dispatched to listeners. */
  #published: object | null | undefined;
  readonly #leaving = (): void => {
    if (this.#waiting !== undefined) this.#keep();
  };
  /** If another tab sends or discards the draft, save the text that is still here. */
  readonly #stored = (event: StorageEvent): void => {
    if (!this.#empty && this.#draft?.isLost(event)) this.#later();
  };

  connectedCallback(): void {
    const area = this.querySelector('textarea');
    if (!area) return;
    addEventListener('pagehide', this.#leaving);
    addEventListener('storage', this.#stored);
    if (this.#area) return;
    this.#area = area;
    this.#bar = this.querySelector<HTMLElement>('[role="toolbar"]');
    if (this.#bar) this.#equip(this.#bar);
    area.addEventListener('keydown', (event) => this.#key(event));
    // The browser cannot point to an invalid field while a preview hides it.
    area.addEventListener('invalid', () => this.#write());
    this.querySelector('[data-preview]')?.addEventListener('click', (event) => {
      event.preventDefault();
      void this.#toggle();
    });
    area.addEventListener('input', () => this.#follow());
    const { form } = area;
    if (!form || !this.dataset['draft']) return;
    this.#draft = new FormDraft(form, `${document.body.dataset['viewer']} ${this.dataset['draft']}`);
    form.addEventListener('input', () => {
      this.#own();
      this.#later();
    });
    form.addEventListener('submit', () => this.#save());
    form.addEventListener('forum:sent', () => this.#forget());
    form.addEventListener('reset', () => this.#drop());
    form.addEventListener('forum:draft-wanted', () => this.#dispatch());
    form.addEventListener('forum:draft-found', (event) => this.#found(event as CustomEvent<FoundDraft>));
    form.addEventListener('forum:draft-behind', () => this.#offer(true));
    this.#offer();
  }

  disconnectedCallback(): void {
    this.#leaving();
    clearTimeout(this.#following);
    removeEventListener('pagehide', this.#leaving);
    removeEventListener('storage', this.#stored);
    this.#asking?.abort();
  }

  /** The toolbar is one tab stop; arrow keys move within it. */
  #equip(bar: HTMLElement): void {
    const tools = [...bar.querySelectorAll('button')];
    for (const tool of tools) {
      tool.tabIndex = tool === tools[0] ? 0 : -1;
      tool.addEventListener('click', (event) => void this.#use(tool, event));
    }
    bar.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const way = getComputedStyle(bar).direction === 'rtl' ? -step : step;
      const at = tools.indexOf(document.activeElement as HTMLButtonElement);
      const next = tools[(at + way + tools.length) % tools.length];
      for (const tool of tools) tool.tabIndex = tool === next ? 0 : -1;
      next?.focus();
      event.preventDefault();
    });
  }

  async #use(tool: HTMLElement, event: UIEvent): Promise<void> {
    const { mark } = tool.dataset;
    if (mark) return apply(this.#area, mark as Mark);
    const element = tool.parentElement as ComposerTool;
    try {
      await loadElement(element.localName);
      await element.use(this.#area, event);
    } catch {
      toast(t('failed'));
    }
  }

  #key(event: KeyboardEvent): void {
    // This Enter confirms a word of an input method.
    if (event.isComposing) return;
    const command = event.ctrlKey || event.metaKey;
    if (event.key === 'Enter' && !command && !event.shiftKey && continueList(this.#area)) return event.preventDefault();
    if (!command || event.altKey) return;
    if (event.key === 'Enter') return this.#area.form?.requestSubmit();
    const change = this.#changeOf(event);
    if (!change) return;
    event.preventDefault();
    change();
  }

  /** What a key does with Ctrl or Command; browsers use the letters with Shift themselves. */
  #changeOf({ key, code, shiftKey }: KeyboardEvent): (() => void) | undefined {
    // Which sign it types with Shift depends on the layout.
    if (shiftKey) return code === 'Period' ? () => apply(this.#area, 'quote') : undefined;
    if (key === ']' || key === '[') return () => indent(this.#area, key === ']');
    const mark = KEYS[key.toLowerCase()];
    return mark && (() => apply(this.#area, mark));
  }

  async #toggle(): Promise<void> {
    if (this.#write()) return this.#area.focus();
    const view = document.createElement('div');
    const beside = matchMedia(WIDE).matches;
    view.className = 'composer-view prose';
    view.dir = 'auto';
    // Focusable beside the text, so that the keyboard can scroll it.
    view.tabIndex = beside ? 0 : -1;
    this.#box.classList.toggle('beside', beside);
    this.#area.hidden = !beside;
    // Its buttons would change a text that is hidden.
    if (this.#bar) this.#bar.hidden = !beside;
    this.#area.after(view);
    this.#label(t(beside ? 'hide' : 'write'));
    if (beside) this.#area.focus();
    await this.#preview(view);
    announce(view.textContent ?? '');
  }

  get #box(): HTMLElement {
    return this.#area.parentElement!;
  }

  /** Updates a preview that is shown beside the text. */
  #follow(): void {
    clearTimeout(this.#following);
    const view = this.#box.querySelector('.composer-view');
    if (view) this.#following = setTimeout(() => void this.#preview(view), PREVIEW_AFTER);
  }

  /** Switches from the preview back to the field; returns false if there was no preview. */
  #write(): boolean {
    const shown = this.querySelector('.composer-view');
    shown?.remove();
    clearTimeout(this.#following);
    this.#box.classList.remove('beside');
    this.#area.hidden = false;
    if (this.#bar) this.#bar.hidden = false;
    this.#label();
    return shown !== null;
  }

  #label(text?: string): void {
    const button = this.querySelector<HTMLElement>('[data-preview]');
    if (!button) return;
    button.dataset['label'] ??= button.textContent ?? '';
    button.textContent = text ?? button.dataset['label'];
  }

  /** Rendered like the post will be. If a request fails, the last good preview stays. */
  async #preview(view: Element): Promise<void> {
    this.#asking?.abort();
    const { signal } = (this.#asking = new AbortController());
    try {
      const content = this.#area.value;
      const { html } = await api<{ html: string }>('/api/markdown/parse', { content }, 'POST', { signal });
      view.replaceChildren(toFragment(html));
    } catch (error) {
      if (!signal.aborted && view.childNodes.length === 0)
        view.textContent = error instanceof Error ? error.message : t('failed');
    }
  }

  /** From the first letter on, the page's address leads back to this draft, as after a reload or a crash. */
  #own(): void {
    const { own } = this.dataset;
    const address = new URL(location.href);
    if (own === undefined || address.searchParams.get('draft') === own) return;
    address.searchParams.set('draft', own);
    history.replaceState(history.state, '', address);
  }

  #later(): void {
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => this.#keep(), DRAFT_AFTER);
  }

  #keep(): void {
    this.#save();
    this.#publish();
  }

  #save(): void {
    this.#settled();
    if (this.#draft?.keep()) this.#saved();
    else this.#say('');
  }

  /** Shows when the draft was last saved, with a button to discard it. */
  #saved(time = this.#draft!.time): void {
    this.#choices(this.#say(t('saved', { time: clock(time) })));
  }

  #publish(): void {
    this.#published = this.#draft?.time ? this.#draft.values : null;
    this.#dispatch();
  }

  /**
   * Dispatches `forum:draft` on a form that is saved on this device, for listeners that also store it elsewhere:
   * `detail` has its values, or is null if there is no draft any more.
   */
  #dispatch(): void {
    const detail = this.#published;
    if (detail !== undefined) this.#area.form?.dispatchEvent(new CustomEvent('forum:draft', { detail }));
  }

  #forget(): void {
    this.#settled();
    this.#draft?.forget();
  }

  #settled(): void {
    clearTimeout(this.#waiting);
    this.#waiting = undefined;
  }

  /**
   * Restores a draft into an empty field, or into one that has an earlier state of the same draft (`behind`) and that
   * nobody has changed since. If the server sent another text, the writer chooses between the two.
   */
  #offer(behind = false): void {
    const draft = this.#draft;
    const kept = draft?.kept;
    if (!draft) return;
    if (!kept) {
      if (draft.time > 0) this.#saved();
      // Text that was typed before this module loaded is saved too.
      if (this.#area.value !== this.#area.defaultValue) this.#later();
      return;
    }
    const time = moment(kept.getTime(), { dateStyle: 'medium', timeStyle: 'short' });
    const safe = this.#empty || (behind && this.#waiting === undefined);
    if (safe) draft.restore();
    const line = this.#say(t(safe ? 'restored' : 'kept', { time }));
    this.#choices(line, safe ? undefined : () => draft.restore());
  }

  /**
   * If no text written here would be lost, takes over the newer draft and cancels the event; else the writer chooses
   * between the two.
   */
  #found(event: CustomEvent<FoundDraft>): void {
    const draft = this.#draft!;
    const { values, time, known } = event.detail;
    if (draft.knows(values)) {
      if (draft.time === 0) this.#saved(time);
      return event.preventDefault();
    }
    const written = this.#waiting !== undefined || draft.time > known;
    const safe = !written && (this.#empty || (draft.time > 0 && this.#area.defaultValue.trim() === ''));
    const bring = (): void => {
      draft.put(values);
      draft.keep();
    };
    if (safe) {
      bring();
      event.preventDefault();
    }
    const line = this.#say(t('elsewhere', { time: relativeTime(time) }));
    this.#choices(line, safe ? undefined : bring, written ? () => this.#keep() : undefined);
  }

  get #empty(): boolean {
    return this.#area.value.trim() === '';
  }

  /**
   * Adds buttons to bring back or discard a draft to the line that reports it. By default, discarding resets the form
   * to what the server sent.
   */
  #choices(line: HTMLElement, bring?: () => void, discard = () => this.#discard()): void {
    const tool = (label: string, run: () => void): HTMLButtonElement => {
      const made = button(label, () => {
        run();
        this.#settled();
        this.#area.focus();
      });
      made.className = 'button quiet small';
      return made;
    };
    const away = tool(t('discard'), discard);
    if (!bring) return line.append(' ', away);
    const back = tool(t('bring'), () => {
      bring();
      this.#saved();
    });
    line.append(' ', back, ' ', away);
  }

  #discard(): void {
    this.#draft?.discard();
  }

  /** The form was reset to what the server sent, so there is no draft any more. */
  #drop(): void {
    this.#forget();
    this.#say('');
    this.#publish();
  }

  #say(text: string): HTMLElement {
    let line = this.querySelector<HTMLElement>('.composer-state');
    if (!line) {
      line = document.createElement('p');
      line.className = 'composer-state';
      this.querySelector('.composer-foot')?.prepend(line);
    }
    line.textContent = text;
    return line;
  }
}

/** Formats a time in the zone that the reader chose. */
const moment = (time: number, format: Intl.DateTimeFormatOptions): string => {
  const { lang, dataset } = document.documentElement;
  return new Date(time).toLocaleString(lang, { ...format, timeZone: dataset['zone'] });
};
/** Only the time of day, if the time is today. */
function clock(time: number): string {
  const day = (one: number): string => moment(one, { dateStyle: 'short' });
  return moment(time, { ...(day(time) !== day(Date.now()) && { dateStyle: 'medium' }), timeStyle: 'short' });
}
define('x-composer', Composer);
