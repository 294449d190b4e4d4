import { api, define } from '@forum/client';

/** Milliseconds for which the slider rests before the date of a post is asked for that is not on the page. */
const REST = 120;

/**
 * While the slider of the position bar is moved, finds the dates of posts that are not on the page, and keeps each as a
 * `time` with the id `at-…`, which the bar reads. `data-discussion` is the id of the discussion.
 */
class PostDates extends HTMLElement {
  readonly #asked = new Set<string>();
  #resting: ReturnType<typeof setTimeout> | undefined;

  connectedCallback(): void {
    const range = this.parentElement?.querySelector('input');
    range?.addEventListener('input', () => this.#wait(range));
    if (range) this.#wait(range);
  }

  disconnectedCallback(): void {
    clearTimeout(this.#resting);
  }

  #wait(range: HTMLInputElement): void {
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => void this.#find(range), REST);
  }

  async #find(range: HTMLInputElement): Promise<void> {
    const number = range.value;
    if (this.#asked.has(number) || document.querySelector(`#post-${number} .post-when time`)) return;
    this.#asked.add(number);
    try {
      const { posts } = await api<{ posts: readonly { number: number; created_at?: string }[] }>(
        `/api/discussions/${this.dataset['discussion']}/posts?limit=1&near=${number}`,
      );
      // A post without a date has been deleted or moved.
      const date = posts.find((post) => String(post.number) === number)?.created_at;
      if (date === undefined) return;
      this.append(Object.assign(document.createElement('time'), { id: `at-${number}`, dateTime: date }));
      // The bar says it if the slider is still there.
      if (range.value === number) range.dispatchEvent(new Event('input'));
    } catch {
      this.#asked.delete(number);
    }
  }
}
define('x-post-dates', PostDates);
