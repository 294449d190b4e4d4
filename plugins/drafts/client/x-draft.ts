import { api, define, request, store, type FoundDraft } from '@forum/client';

/** Milliseconds between two copies: what is written meanwhile goes into the next one. */
const INTERVAL = 8_000;
/** Bytes that a browser sends for a page that is left. */
const MOST_ON_LEAVING = 60_000;

/** What the server is known to have where a draft was discarded, or sent. */
const NONE = JSON.stringify(null);

/** What the writer is told of: there is too much already, or it cannot be kept. */
const REFUSED = new Set([400, 409]);

/** What this device knows of the copy: when that was written, and until when it has what was written here. */
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
 * Keeps a copy of its form's draft on the server, and tells the form of one that was written on another device. What the
 * server does not take stays on this one.
 */
class DraftCopy extends HTMLElement {
  #form!: HTMLFormElement;
  #known: Known | undefined;
  /** As the server has them, for as long as this page knows. */
  #copied = '';
  #values: Values | null | undefined;
  #sentAt = 0;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #sending: AbortController | undefined;
  /** While it is not known yet what another device wrote, nothing replaces that. */
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
    // A copy that comes after the text itself would stay behind.
    form.addEventListener('submit', () => this.#settled());
    form.addEventListener('forum:sent', () => this.#end());
    form.addEventListener('reset', () => this.#discard());
    addEventListener('pagehide', this.#leave);
    addEventListener('pageshow', this.#return);
    const { at = '' } = this.dataset;
    if (at === '' && this.#known) this.#know(undefined);
    if (at !== '' && at !== this.#known?.at) this.#finding = this.#find().finally(() => (this.#finding = undefined));
    this.#want();
  }

  /** Dispatches `forum:draft-wanted` on its form, which says again by `forum:draft` what was saved, or discarded, before this module was there. */
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

  /** Tells the form of the copy that another device wrote; resolves to whether there is one. */
  async #find(): Promise<boolean> {
    try {
      await customElements.whenDefined('x-composer');
      const { draft } = await api<{ draft: { fields: Values; updated_at: string } }>(this.#path);
      // Whoever discards what is in the form means this one, too.
      if (this.#values === null) return false;
      const until = this.#known?.until ?? 0;
      const detail: FoundDraft = { values: draft.fields, time: Date.parse(draft.updated_at), known: until };
      this.#copied = JSON.stringify(draft.fields);
      const found = new CustomEvent('forum:draft-found', { detail, cancelable: true });
      const taken = !this.#form.dispatchEvent(found);
      // From now on what is written here replaces it: the writer has been told.
      this.#know({ at: draft.updated_at, until: taken ? Date.now() : until });
      return true;
    } catch {
      // It was discarded meanwhile, or there is no connection.
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
    // What the one under way writes is not known yet; on leaving, this one is newer in any case.
    if (this.#sending && !this.#leaving) return this.#later(values);
    await this.#copy(values, text);
  }

  async #copy(values: Values, text: string): Promise<void> {
    const until = Date.now();
    this.#sentAt = until;
    // Until the answer it may have these or those before.
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
      // What is written next is sent again; this device has it.
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

  /** Also where this page knows of no copy: a page that was left may have sent one whose answer nobody heard. */
  async #remove(): Promise<void> {
    this.#copied = NONE;
    this.#know(undefined);
    await request(this.#path, { method: 'DELETE', keepalive: true }).catch(() => undefined);
  }

  /** Without waiting: the form may go with it. */
  #discard(): void {
    this.#values = null;
    void this.#send().then(beginAnew);
    this.#sending?.abort();
  }

  /** The text is where it belongs. */
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

/** Where the server filled the draft into the form, that is not as empty as it was before. */
function beginAnew(): void {
  const address = new URL(location.href);
  if (!address.searchParams.has('draft')) return;
  address.searchParams.delete('draft');
  location.replace(address);
}
define('x-draft', DraftCopy);
