import { button, define, refreshCsrf, request, t, toDocument, type LoginDialog } from '@forum/client';

const LOGIN = '/login';
/** Where each step of logging in stands: the password, a second factor. */
const isStep = (path: string): boolean => path === LOGIN || path.startsWith(`${LOGIN}/`);

/**
 * Logs in somebody whose session ended, over the page on which they write. Dispatches `forum:logged-in` on the document
 * once they are.
 */
class Login extends HTMLElement implements LoginDialog {
  /** The one that asks, for all who want to know. */
  static #asking: Promise<boolean> | undefined;
  readonly #dialog = document.createElement('dialog');
  #note = '';
  #returned = false;
  /** A second press while the first is under way would log in once more, and end the session that it began. */
  #sending = false;
  /** They went to log in at another site, in a tab of its own. */
  #elsewhere = false;
  readonly #seen = (): void => {
    if (this.#elsewhere && !document.hidden) void this.#look().catch(() => undefined);
  };

  ask(note = t('ended')): Promise<boolean> {
    Login.#asking ??= this.#ask(note).finally(() => (Login.#asking = undefined));
    return Login.#asking;
  }

  async #ask(note: string): Promise<boolean> {
    this.#note = note;
    this.#dialog.ariaLabel = t('login');
    this.#dialog.addEventListener('submit', (event) => {
      const form = event.target as HTMLFormElement;
      if (form.target !== '') return void (this.#elsewhere = true);
      event.preventDefault();
      void this.#send(form, event.submitter);
    });
    await this.#open(LOGIN);
    // There is no step where somebody has logged in beside it, whoever that is.
    if (this.#dialog.childElementCount === 0) return this.#returned;
    this.append(this.#dialog);
    document.body.append(this);
    const restoreCaret = rememberCaret();
    this.#dialog.showModal();
    this.#dialog.querySelector<HTMLElement>('input:not([type="hidden"])')?.focus();
    document.addEventListener('visibilitychange', this.#seen);
    await new Promise((resolve) => this.#dialog.addEventListener('close', resolve, { once: true }));
    document.removeEventListener('visibilitychange', this.#seen);
    this.remove();
    restoreCaret();
    return this.#returned;
  }

  /** Goes on once they are logged in; until then what they typed here stays. */
  async #look(): Promise<void> {
    const { headers } = await request(LOGIN, { headers: { 'X-Enhance': '' } });
    const next = headers.get('X-Location');
    if (next !== null) await this.#open(next);
  }

  /** Shows a step, or finds that it is no longer needed. */
  async #open(address: string): Promise<void> {
    const response = await request(address);
    this.#show(toDocument(await response.text()), new URL(response.url).pathname);
  }

  #show(page: Document, path: string): void {
    refreshCsrf(page);
    const step = isStep(path) ? page.querySelector('main > .auth') : null;
    if (step) {
      // What leads to another site must not take this page away.
      for (const form of step.querySelectorAll('form'))
        if (!isStep(new URL(form.getAttribute('action') ?? '', location.href).pathname)) form.target = '_blank';
      const note = Object.assign(document.createElement('p'), { className: 'help', textContent: this.#note });
      const away = button(t('cancel'), () => this.#dialog.close());
      away.className = 'button quiet';
      this.#dialog.replaceChildren(note, document.adoptNode(step), away);
    } else {
      // What one person wrote is not sent in the name of another.
      this.#returned = page.body.dataset['viewer'] === document.body.dataset['viewer'];
      this.#dialog.close();
      if (this.#returned) document.dispatchEvent(new CustomEvent('forum:logged-in'));
    }
  }

  async #send(form: HTMLFormElement, submitter: HTMLElement | null): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    const body = new URLSearchParams(new FormData(form, submitter) as unknown as Record<string, string>);
    try {
      const response = await request(form.action, { method: 'POST', body, headers: { 'X-Enhance': '' } });
      if (response.ok) await this.#open(response.headers.get('X-Location') ?? LOGIN);
      else this.#show(toDocument(await response.text()), LOGIN);
      this.#dialog.querySelector<HTMLElement>('[role="alert"], input:not([type="hidden"])')?.focus();
    } catch {
      this.#dialog.querySelector('.help')!.textContent = t('offline');
    } finally {
      this.#sending = false;
    }
  }
}

/** A field that has the focus back after a dialog may have no caret in Chromium, and take no letters until it is pressed. */
function rememberCaret(): () => void {
  const field = document.activeElement;
  if (!(field instanceof HTMLTextAreaElement)) return () => undefined;
  const { selectionStart, selectionEnd } = field;
  return () => document.activeElement === field && field.setSelectionRange(selectionStart, selectionEnd);
}
define('x-login', Login);
