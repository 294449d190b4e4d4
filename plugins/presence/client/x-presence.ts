import { api, define } from '@forum/client';

type Statistics = Readonly<Record<string, unknown>>;

/** Shows how many visitors are here. Without JavaScript, only the link to the page with the numbers is shown. */
class PresenceCard extends HTMLElement {
  readonly #hear = (event: Event): void => this.#show((event as CustomEvent<Statistics>).detail);

  connectedCallback(): void {
    document.addEventListener('parley:presence', this.#hear);
    api<Statistics>('/api/presence/stats').then(
      (statistics) => this.#show(statistics),
      () => undefined,
    );
  }

  disconnectedCallback(): void {
    document.removeEventListener('parley:presence', this.#hear);
  }

  #show(statistics: Statistics): void {
    const format = new Intl.NumberFormat(document.documentElement.lang);
    for (const page of this.querySelectorAll<HTMLElement>('[data-number]'))
      page.textContent = format.format(Number(statistics[page.dataset['number'] ?? ''] ?? 0));
  }
}
define('x-presence', PresenceCard);
