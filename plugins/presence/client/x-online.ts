import { api, define } from '@forum/client';

/** Pictures of members; each is a link to their profile. */
const PICTURES = '.post-avatar[href^="/u/"]';
/** Milliseconds for which pictures that come into view are collected, and after which all in view are asked about again. */
const COLLECT = 300;
const AGAIN = 60_000;
/** The maximum number of members in one request. */
const MOST = 100;

/**
 * Marks the members in view who are online with a dot, and with words for screen readers: `data-text`. The marks are a
 * style sheet, so that they also apply to posts that are added or replaced.
 */
class Online extends HTMLElement {
  readonly #sheet = new CSSStyleSheet();
  readonly #view = new Map<Element, string>();
  /** Profiles that were asked about, and whether their members are online. */
  readonly #known = new Map<string, boolean>();
  #gone: AbortController | undefined;
  #observer: IntersectionObserver | undefined;
  #waiting: ReturnType<typeof setTimeout> | undefined;

  connectedCallback(): void {
    document.adoptedStyleSheets.push(this.#sheet);
    this.#observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) this.#view.set(target, target.getAttribute('href')!);
        else this.#view.delete(target);
      }
      if ([...this.#view.values()].some((profile) => !this.#known.has(profile))) this.#wait(COLLECT);
    });
    this.#gone = new AbortController();
    const { signal } = this.#gone;
    document.addEventListener('discussions:posts', () => this.#look(), { signal });
    const asking = setInterval(() => {
      this.#look();
      this.#known.clear();
      if (this.#view.size > 0) this.#wait(0);
    }, AGAIN);
    signal.addEventListener('abort', () => clearInterval(asking));
    this.#look();
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
    this.#observer?.disconnect();
    clearTimeout(this.#waiting);
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== this.#sheet);
  }

  #look(): void {
    for (const picture of document.querySelectorAll(PICTURES)) this.#observer?.observe(picture);
  }

  #wait(time: number): void {
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => void this.#ask().catch(() => undefined), time);
  }

  async #ask(): Promise<void> {
    const profiles = [...new Set(this.#view.values())].filter((profile) => !this.#known.has(profile)).slice(0, MOST);
    if (document.hidden || profiles.length === 0) return;
    const query = new URLSearchParams({ usernames: profiles.map(nameIn).join() });
    const { usernames } = await api<{ readonly usernames: readonly string[] }>(`/api/presence/members?${query}`);
    for (const profile of profiles) this.#known.set(profile, usernames.includes(nameIn(profile)));
    this.#show();
  }

  #show(): void {
    const online = [...this.#known].flatMap(([profile, here]) => (here ? `[href="${CSS.escape(profile)}"]` : []));
    const text = CSS.escape(`, ${this.dataset['text'] ?? ''}`);
    this.#sheet.replaceSync(
      online.length === 0
        ? ''
        : `:is(.post-avatar, .post-by > a):is(${online.join()}) { --online: ""; --online-text: "${text}"; }`,
    );
  }
}

/** The username in the path of a profile, in lower case as the server compares them. */
const nameIn = (profile: string): string => decodeURIComponent(profile.split('/')[2]!).toLowerCase();
define('x-online', Online);
