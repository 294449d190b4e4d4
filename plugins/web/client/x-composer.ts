import { announce, api, define, store, t, toFragment } from '@forum/client';
import { apply, continueList, type Mark } from './parts/marks.ts';

/** Milliseconds after the last key until a draft is kept. */
const DRAFT_AFTER = 2_000;

/** What the bar offers, with its sign and its key (with Ctrl or Command). */
const TOOLS: readonly { readonly mark: Mark; readonly sign: string; readonly key?: string }[] = [
  { mark: 'bold', sign: 'B', key: 'b' }, { mark: 'italic', sign: 'I', key: 'i' }, { mark: 'heading', sign: 'H' }, { mark: 'quote', sign: '❞' },
  { mark: 'code', sign: '‹›' }, { mark: 'list', sign: '•' }, { mark: 'link', sign: '🔗', key: 'k' },
];

/** The writing field with a bar, a preview made by the server, and a draft that outlives the page. */
class Composer extends HTMLElement {
  #area!: HTMLTextAreaElement;
  #draft: ReturnType<typeof setTimeout> | undefined;
  #asking: AbortController | undefined;

  connectedCallback(): void {
    const area = this.querySelector('textarea');
    const box = this.querySelector('.composer-box');
    if (!area || !box || this.querySelector('[role="toolbar"]')) return;
    this.#area = area;
    box.prepend(this.#bar());
    area.addEventListener('keydown', (event) => this.#key(event));
    area.addEventListener('input', () => this.#later());
    area.form?.addEventListener('forum:sent', () => this.#forget());
    area.form?.addEventListener('submit', () => this.#keep());
    this.querySelector('[data-preview]')?.addEventListener('click', (event) => {
      event.preventDefault();
      void this.#toggle(event.currentTarget as HTMLElement);
    });
    this.#restore();
  }

  disconnectedCallback(): void {
    clearTimeout(this.#draft);
    this.#asking?.abort();
  }

  get #name(): string | undefined {
    return this.dataset['draft'] ? `draft:${this.dataset['draft']}` : undefined;
  }

  /** One stop of the Tab key; arrows move inside. */
  #bar(): HTMLElement {
    const bar = document.createElement('div');
    bar.className = 'composer-bar';
    bar.setAttribute('role', 'toolbar');
    bar.setAttribute('aria-label', t('toolbar'));
    bar.setAttribute('aria-controls', this.#area.id);
    const tools = TOOLS.map(({ mark, sign, key }, index) => {
      const tool = document.createElement('button');
      tool.type = 'button';
      tool.className = `icon-button tool-${mark}`;
      tool.textContent = sign;
      tool.tabIndex = index === 0 ? 0 : -1;
      tool.setAttribute('aria-label', t(mark));
      tool.title = key ? `${t(mark)} (Ctrl+${key.toUpperCase()})` : t(mark);
      tool.addEventListener('click', () => apply(this.#area, mark));
      return tool;
    });
    bar.append(...tools);
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
    return bar;
  }

  #key(event: KeyboardEvent): void {
    const command = event.ctrlKey || event.metaKey;
    if (event.key === 'Enter' && !command && !event.shiftKey && continueList(this.#area)) return event.preventDefault();
    if (!command || event.altKey) return;
    if (event.key === 'Enter') return this.#area.form?.requestSubmit();
    const tool = TOOLS.find(({ key }) => key === event.key.toLowerCase());
    if (!tool) return;
    event.preventDefault();
    apply(this.#area, tool.mark);
  }

  async #toggle(button: HTMLElement): Promise<void> {
    const shown = this.querySelector('.composer-view');
    const label = (button.dataset['label'] ??= button.textContent ?? '');
    if (shown) {
      shown.remove();
      this.#area.hidden = false;
      button.textContent = label;
      return this.#area.focus();
    }
    const view = document.createElement('div');
    view.className = 'composer-view prose';
    view.dir = 'auto';
    view.tabIndex = -1;
    this.#area.hidden = true;
    this.#area.after(view);
    button.textContent = t('write');
    await this.#preview(view);
  }

  /** The same rendering the post will have. The last good one stays when asking fails. */
  async #preview(view: Element): Promise<void> {
    this.#asking?.abort();
    this.#asking = new AbortController();
    try {
      const { html } = await api<{ html: string }>('/api/markdown/parse', { content: this.#area.value });
      view.replaceChildren(toFragment(html));
      announce(view.textContent ?? '');
    } catch (error) {
      if (view.childNodes.length === 0) view.textContent = error instanceof Error ? error.message : t('failed');
    }
  }

  #later(): void {
    clearTimeout(this.#draft);
    this.#draft = setTimeout(() => this.#keep(), DRAFT_AFTER);
  }

  #keep(): void {
    if (!this.#name) return;
    const { value } = this.#area;
    store.set(this.#name, value.trim() ? JSON.stringify({ value, time: Date.now() }) : undefined);
    this.#say(value.trim() ? t('draft') : '');
  }

  #forget(): void {
    clearTimeout(this.#draft);
    if (this.#name) store.set(this.#name, undefined);
  }

  /** A draft comes back into an empty field only; what the server sent is newer. */
  #restore(): void {
    const kept = this.#name ? store.get(this.#name) : null;
    if (!kept || this.#area.value.trim()) return;
    const { value, time } = JSON.parse(kept) as { value: string; time: number };
    this.#area.value = value;
    const line = this.#say(t('restored', { time: new Date(time).toLocaleString(document.documentElement.lang, { dateStyle: 'medium', timeStyle: 'short' }) }));
    const discard = document.createElement('button');
    discard.type = 'button';
    discard.className = 'button quiet small';
    discard.textContent = t('discard');
    discard.addEventListener('click', () => {
      this.#area.value = '';
      this.#forget();
      this.#say('');
      this.#area.focus();
    });
    line.append(' ', discard);
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
define('x-composer', Composer);
