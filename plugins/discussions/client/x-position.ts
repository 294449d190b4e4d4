import { define } from '@forum/client';

/** Milliseconds after the last key press before the slider's value takes effect. */
const SETTLE = 400;

/**
 * Shows the reader's position in the discussion, and navigates by links, which work without script, or by a slider.
 * `data-last` is the number of the last post, `data-size` the number of posts per page, `data-path` the path of the
 * first page.
 */
class Position extends HTMLElement {
  readonly #range = document.createElement('input');
  #gone: AbortController | undefined;
  #settling: ReturnType<typeof setTimeout> | undefined;
  /**
   * The value that the page last set. If the user has moved the slider away from it, the slider does not follow the
   * page.
   */
  #put = '';

  connectedCallback(): void {
    const { signal } = (this.#gone = new AbortController());
    const text = this.querySelector('p');
    Object.assign(this.#range, {
      type: 'range',
      min: '1',
      max: this.dataset['last'],
      ariaLabel: this.dataset['label'],
    });
    text?.after(this.#range);
    this.#range.addEventListener('input', () => this.#say());
    this.#range.addEventListener('change', () => {
      clearTimeout(this.#settling);
      this.#settling = setTimeout(() => this.#go(Number(this.#range.value), false), SETTLE);
    });
    this.addEventListener('click', (event) => {
      const link = (event.target as Element).closest<HTMLElement>('[data-number]');
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      this.#go(Number(link.dataset['number']), true);
    });
    document.addEventListener('discussions:at', () => this.#at(), { signal });
    document.body.classList.add('positioned');
    this.#at();
  }

  disconnectedCallback(): void {
    document.body.classList.remove('positioned');
    this.#gone?.abort();
    clearTimeout(this.#settling);
  }

  #at(): void {
    if (this.#put && this.#put !== this.#range.value) return;
    const number = Number(document.querySelector<HTMLElement>('x-stream')?.dataset['at'] ?? this.dataset['first']);
    if (number > Number(this.#range.max)) this.#range.max = String(number);
    this.#range.value = this.#put = String(number);
    this.#say();
  }

  /** The date is exact or missing: between two posts that are known there may be any number of days. */
  #say(): void {
    const number = this.#range.value;
    const time = document.querySelector<HTMLTimeElement>(`#post-${number} .post-when time, #at-${number}`);
    const place = (this.dataset['text'] ?? '').replace('{number}', number).replace('{last}', this.#range.max);
    const text = time ? `${place} · ${day(new Date(time.dateTime))}` : place;
    this.#range.setAttribute('aria-valuetext', text);
    this.querySelector('p')?.replaceChildren(text);
  }

  /** Navigates to a post, which may be on another page. */
  #go(number: number, focus: boolean): void {
    this.#put = '';
    const page = Math.ceil(number / Number(this.dataset['size']));
    const href = `${this.dataset['path'] ?? ''}${page > 1 ? `?page=${page}` : ''}`;
    document.dispatchEvent(new CustomEvent('discussions:go', { detail: { number, href, focus } }));
  }
}

/** Formats a date, omitting the current year. */
const day = (date: Date): string =>
  new Intl.DateTimeFormat(document.documentElement.lang, {
    day: 'numeric',
    month: 'short',
    timeZone: document.documentElement.dataset['zone'],
    year: date.getFullYear() === new Date().getFullYear() ? undefined : 'numeric',
  }).format(date);

define('x-position', Position);
