import { announce, api, insertText, togglePopover, toFragment } from '@forum/client';
import { emojiGroups, emojiNamed, skinTone, written, type Emoji, type EmojiGroup } from './emoji.ts';
import { Grid } from './grid.ts';
import { recentEmoji, remember } from './recent.ts';

/** The maximum number of search results shown. */
const MOST_FOUND = 96;
const RECENT = 'recent';

/** The emoji dialog: a search field, the groups as tabs, and the emoji of one group. */
export class Picker {
  readonly #dialog: HTMLElement;
  readonly #search: HTMLInputElement;
  readonly #tabs: readonly HTMLButtonElement[];
  readonly #panel: HTMLElement;
  readonly #grid: Grid;
  readonly #groups: readonly EmojiGroup[];
  #group = RECENT;
  #area: HTMLTextAreaElement | undefined;
  #opener: HTMLElement | undefined;

  static async load(): Promise<Picker> {
    const [{ html }, groups] = await Promise.all([api<{ html: string }>('/api/emoji/picker'), emojiGroups()]);
    return new Picker(toFragment(html).querySelector<HTMLElement>('[popover]')!, groups);
  }

  constructor(dialog: HTMLElement, groups: readonly EmojiGroup[]) {
    this.#dialog = dialog;
    this.#groups = groups;
    this.#search = dialog.querySelector('input')!;
    this.#tabs = [...dialog.querySelectorAll<HTMLButtonElement>('[role="tab"]')];
    this.#panel = dialog.querySelector('[role="tabpanel"]')!;
    this.#grid = new Grid(dialog.querySelector('[role="grid"]')!, (emoji) => this.#choose(emoji));
    this.#listen();
    // Outside of the form, so that its fields are not submitted and Enter in the search field submits nothing.
    document.body.append(dialog);
  }

  open(area: HTMLTextAreaElement, opener: HTMLElement, event: UIEvent): void {
    this.#area = area;
    this.#opener = opener;
    this.#search.value = '';
    const recent = recentEmoji().length > 0;
    this.#tabs[0]!.hidden = !recent;
    this.#select(this.#tabs[recent ? 0 : 1]!);
    togglePopover(this.#dialog, opener, event);
    if (!this.#dialog.matches(':popover-open')) return;
    // On touch screens, an on-screen keyboard would cover the emoji.
    if (matchMedia('(hover: hover)').matches) this.#search.focus();
    else this.#dialog.focus();
  }

  #listen(): void {
    const tone = this.#dialog.querySelector('select')!;
    tone.value = String(skinTone.get());
    tone.addEventListener('change', () => {
      skinTone.set(Number(tone.value));
      void this.#show();
    });
    this.#search.addEventListener('input', () => void this.#find());
    this.#search.addEventListener('keydown', (event) => this.#searchKey(event));
    for (const tab of this.#tabs) {
      tab.addEventListener('click', () => {
        this.#search.value = '';
        this.#select(tab);
      });
      tab.addEventListener('keydown', (event) => this.#tabKey(event));
      tab.setAttribute('aria-controls', this.#panel.id);
    }
    this.#dialog.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || event.isComposing) return;
      event.preventDefault();
      this.#dialog.hidePopover();
      this.#area?.focus();
    });
    // Closes when the Tab key moves the focus out of the dialog.
    this.#dialog.addEventListener('focusout', ({ relatedTarget }) => {
      const next = relatedTarget as Node | null;
      if (next && next !== this.#opener && !this.#dialog.contains(next)) this.#dialog.hidePopover();
    });
  }

  #searchKey(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === 'ArrowDown') this.#grid.focus();
    else if (event.key !== 'Enter') return;
    else if (this.#grid.first) this.#choose(this.#grid.first);
    event.preventDefault();
  }

  #tabKey(event: KeyboardEvent): void {
    const tabs = this.#tabs.filter((tab) => !tab.hidden);
    const way = getComputedStyle(this.#dialog).direction === 'rtl' ? -1 : 1;
    const at = tabs.indexOf(event.currentTarget as HTMLButtonElement);
    const to = { ArrowRight: at + way, ArrowLeft: at - way, Home: 0, End: tabs.length - 1 }[event.key];
    const next = to === undefined ? undefined : tabs.at(to % tabs.length);
    if (event.key === 'ArrowDown') this.#grid.focus();
    else if (!next) return;
    else {
      next.focus();
      next.click();
    }
    event.preventDefault();
  }

  #select(tab: HTMLButtonElement): void {
    this.#group = tab.dataset['group'] ?? '';
    void this.#show();
  }

  async #find(): Promise<void> {
    await this.#show();
    if (this.#search.value.trim() === '') return;
    const { length } = this.#panel.querySelectorAll('button');
    const none = this.#panel.querySelector('p')!.textContent;
    announce(length === 0 ? none : (this.#dialog.dataset['found'] ?? '').replace('{count}', String(length)));
  }

  /** Shows the search results, or the selected group if nothing is searched for. */
  async #show(): Promise<void> {
    const name = this.#search.value.trim();
    const tab = name === '' ? this.#tabs.find(({ dataset }) => dataset['group'] === this.#group) : undefined;
    for (const one of this.#tabs) {
      one.ariaSelected = String(one === tab);
      one.tabIndex = one === (tab ?? this.#tabs[1]) ? 0 : -1;
    }
    const label = tab?.ariaLabel ?? this.#dialog.dataset['results'] ?? '';
    const found = tab ? this.#ofGroup() : (await emojiNamed(name)).slice(0, MOST_FOUND);
    this.#panel.ariaLabel = label;
    this.#panel.scrollTop = 0;
    this.#panel.querySelector('p')!.hidden = found.length > 0;
    this.#grid.show(found, label);
  }

  #ofGroup(): readonly Emoji[] {
    if (this.#group !== RECENT) return this.#groups.find(({ name }) => name === this.#group)?.emoji ?? [];
    const all = new Map(this.#groups.flatMap(({ emoji }) => emoji).map((one) => [one.emoji, one]));
    return recentEmoji().flatMap((emoji) => all.get(emoji) ?? []);
  }

  #choose(one: Emoji): void {
    const area = this.#area!;
    remember(one.emoji);
    this.#dialog.hidePopover();
    insertText(area, written(one), area.selectionStart, area.selectionEnd);
  }
}
