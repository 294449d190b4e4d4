import { api, define, request, store, type FoundDraft } from '@forum/client';

/** Milliseconds between two copies; changes in between go into the next one. */
const INTERVAL = 8_000;
/** Maximum bytes that a browser still sends after the page was left. */
const MOST_ON_LEAVING = 60_000;

/** The value of `#copied` after a draft was discarded or sent. */
const NONE = JSON.stringify(null);

/** Statuses whose message is shown to the writer: there are too many drafts already, or this one cannot be stored. */
const REFUSED = new Set([400, 409]);

/**
 * What this device knows about the copy on the server: when it was written, and up to when it includes what was written
 * here.
 */
interface Known {
  readonly at: string;
  readonly until: number;
}
type Values = Readonly<Record<string, string | boolean>>;
interface Answer {
  readonly updated_at?: string;
  readonly code?: string;
  readonly error?: string;
}

/**
 * Keeps a copy of its form's draft on the server, and tells the form about a draft that was written on another device.
 * Drafts that the server does not accept stay on this device.
 */
class DraftCopy extends HTMLElement {
  #form!: HTMLFormElement;
  #known: Known | undefined;
  /** The values on the server, as JSON, as far as this page knows. */
  #copied = '';
  #values: Values | null | undefined;
  #sentAt = 0;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #sending: AbortController | undefined;
  /** While this is pending, nothing overwrites a copy that another device may have written. */
  #finding: Promise<boolean> | undefined;
  #leaving = false;
  readonly #leave = (): void => {
    this.#leaving = true;
    if (this.#waiting !== undefined) void this.#send();
  };
  readonly #return = (): void => void (this.#leaving = false);

  connectedCallback(): void {
    const form = this.closest('form');
    if (!form || this.#form) return;
    this.#form = form;
    this.#known = this.#read();
    form.addEventListener('forum:draft', (event) => this.#later((event as CustomEvent<Values | null>).detail));
    // A copy that arrives after the text itself would stay behind.
    form.addEventListener('submit', () => this.#settled());
    form.addEventListener('forum:sent', () => this.#end());
    form.addEventListener('reset', () => this.#discard());
    addEventListener('pagehide', this.#leave);
    addEventListener('pageshow', this.#return);
    const { at = '' } = this.dataset;
    if (at === '' && this.#known) this.#know(undefined);
    if (at !== '' && at === this.#known?.at) void this.#behind();
    if (at !== '' && at !== this.#known?.at) this.#finding = this.#find().finally(() => (this.#finding = undefined));
    this.#want();
  }

  /**
   * Dispatches `forum:draft-wanted` on its form, which then repeats in `forum:draft` what was saved or discarded before
   * this module was loaded.
   */
  #want(): void {
    this.#form.dispatchEvent(new CustomEvent('forum:draft-wanted'));
  }

  disconnectedCallback(): void {
    if (this.#waiting !== undefined) void this.#send();
    removeEventListener('pagehide', this.#leave);
    removeEventListener('pageshow', this.#return);
  }

  get #path(): string {
    return `/api/drafts/${encodeURIComponent(this.dataset['key'] ?? '')}`;
  }
  get #storeKey(): string {
    return `draft-copy:${document.body.dataset['viewer']} ${this.dataset['key']}`;
  }

  #read(): Known | undefined {
    try {
      return JSON.parse(store.get(this.#storeKey) ?? 'null') ?? undefined;
    } catch {
      return undefined;
    }
  }

  #know(known: Known | undefined): void {
    this.#known = known;
    store.set(this.#storeKey, known && JSON.stringify(known));
  }

  /** Tells a form that was filled from the copy that this device wrote it, and may have a later state of the draft. */
  async #behind(): Promise<void> {
    if (!new URLSearchParams(location.search).has('draft')) return;
    await customElements.whenDefined('x-composer');
    this.#form.dispatchEvent(new CustomEvent('forum:draft-behind'));
  }

  /** Tells the form about the copy that another device wrote; resolves to whether there is one. */
  async #find(): Promise<boolean> {
    try {
      await customElements.whenDefined('x-composer');
      const { draft } = await api<{ draft: { fields: Values; updated_at: string } }>(this.#path);
      // Discarding the contents of the form applies to this copy, too.
      if (this.#values === null) return false;
      const until = this.#known?.until ?? 0;
      const detail: FoundDraft = { values: draft.fields, time: Date.parse(draft.updated_at), known: until };
      this.#copied = JSON.stringify(draft.fields);
      const found = new CustomEvent('forum:draft-found', { detail, cancelable: true });
      const taken = !this.#form.dispatchEvent(found);
      // The writer has been told, so from now on what is written here replaces the copy.
      this.#know({ at: draft.updated_at, until: taken ? Date.now() : until });
      return true;
    } catch {
      // It has been discarded, or there is no connection.
      return false;
    }
  }

  #later(values: Values | null): void {
    this.#values = values;
    clearTimeout(this.#waiting);
    if (this.#leaving) return void this.#send();
    this.#waiting = setTimeout(() => void this.#send(), Math.max(0, this.#sentAt + INTERVAL - Date.now()));
  }

  #settled(): void {
    clearTimeout(this.#waiting);
    this.#waiting = undefined;
  }

  async #send(): Promise<void> {
    this.#settled();
    const values = this.#values;
    const text = JSON.stringify(values);
    if (values === undefined || text === this.#copied) return;
    if (values === null) return this.#remove();
    if (this.#finding && !this.#leaving) {
      await this.#finding;
      return this.#values === undefined ? undefined : this.#later(this.#values);
    }
    // The result of the request in progress is not known yet; when the page is left, this copy is newer in any case.
    if (this.#sending && !this.#leaving) return this.#later(values);
    await this.#copy(values, text);
  }

  async #copy(values: Values, text: string): Promise<void> {
    const until = Date.now();
    this.#sentAt = until;
    // Until the response arrives, the server may have the new values or the previous ones.
    this.#copied = '';
    const replaces = this.#sending ? undefined : (this.#known?.at ?? null);
    this.#sending = new AbortController();
    try {
      const { status, answer } = await this.#put(JSON.stringify({ fields: values, replaces }), this.#sending.signal);
      if (answer.updated_at !== undefined) {
        this.#copied = text;
        this.#know({ at: answer.updated_at, until });
      }
      this.#sending = undefined;
      if (answer.code === 'draft_changed') return await this.#changedElsewhere();
      this.#say(REFUSED.has(status) ? (answer.error ?? '') : '');
    } catch {
      // The next change is sent together with this one, which is still stored on this device.
      this.#sending = undefined;
    }
  }

  async #put(body: string, signal: AbortSignal): Promise<{ readonly status: number; readonly answer: Answer }> {
    const headers = { 'Content-Type': 'application/json' };
    const keepalive = body.length < MOST_ON_LEAVING;
    const response = await request(this.#path, { method: 'PUT', body, headers, signal, keepalive });
    return { status: response.status, answer: (await response.json()) as Answer };
  }

  async #changedElsewhere(): Promise<void> {
    if (await this.#find()) return;
    this.#know(undefined);
    if (this.#values) this.#later(this.#values);
  }

  /**
   * Sends the request even if this page knows of no copy: one that was left may have stored a copy without receiving
   * the response.
   */
  async #remove(): Promise<void> {
    this.#copied = NONE;
    this.#know(undefined);
    await request(this.#path, { method: 'DELETE', keepalive: true }).catch(() => undefined);
  }

  /** Does not wait for the timer: the form may disappear along with it. */
  #discard(): void {
    this.#values = null;
    void this.#send().then(beginAnew);
    this.#sending?.abort();
  }

  /** Removes the draft after its text was posted. */
  #end(): void {
    this.#settled();
    this.#values = undefined;
    void this.#remove();
    this.#sending?.abort();
  }

  #say(error: string): void {
    this.textContent = error;
    this.className = error === '' ? '' : 'help';
  }
}

/** Reloads a form that the server filled from the draft: resetting it does not empty it. */
function beginAnew(): void {
  const address = new URL(location.href);
  if (!address.searchParams.has('draft')) return;
  address.searchParams.delete('draft');
  location.replace(address);
}
define('x-draft', DraftCopy);
