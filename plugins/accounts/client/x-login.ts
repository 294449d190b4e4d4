import { button, define, refreshCsrf, request, t, toDocument, type LoginDialog } from '@forum/client';

const LOGIN = '/login';
/** Whether a path belongs to a step of logging in, such as the password or a second factor. */
const isStep = (path: string): boolean => path === LOGIN || path.startsWith(`${LOGIN}/`);

/**
 * A login dialog for users whose session ended, shown over the page on which they are writing. Dispatches
 * `forum:logged-in` on the document once they are logged in.
 */
class Login extends HTMLElement implements LoginDialog {
  /** The dialog currently open, shared by all callers. */
  static #asking: Promise<boolean> | undefined;
  readonly #dialog = document.createElement('dialog');
  #note = '';
  #returned = false;
  /** A second submit while the first is in progress would log in again, and end the session that was just started. */
  #sending = false;
  /** The user went to log in at another site, in a separate tab. */
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
    // There is no step if someone has logged in in another tab in the meantime, which may be a different member.
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

  /** Continues if the user has logged in elsewhere; otherwise keeps what they entered here. */
  async #look(): Promise<void> {
    const { headers } = await request(LOGIN, { headers: { 'X-Enhance': '' } });
    const next = headers.get('X-Location');
    if (next !== null) await this.#open(next);
  }

  /** Shows a step, or finds that none is needed any more. */
  async #open(address: string): Promise<void> {
    const response = await request(address);
    this.#show(toDocument(await response.text()), new URL(response.url).pathname);
  }

  #show(page: Document, path: string): void {
    refreshCsrf(page);
    const step = isStep(path) ? page.querySelector('main > .auth') : null;
    if (step) {
      // Forms that lead to another site must not navigate away from this page.
      for (const form of step.querySelectorAll('form'))
        if (!isStep(new URL(form.getAttribute('action') ?? '', location.href).pathname)) form.target = '_blank';
      const note = Object.assign(document.createElement('p'), { className: 'help', textContent: this.#note });
      const away = button(t('cancel'), () => this.#dialog.close());
      away.className = 'button quiet';
      this.#dialog.replaceChildren(note, document.adoptNode(step), away);
    } else {
      // Text written by one member must not be sent in the name of another.
      this.#returned = page.body.dataset['viewer'] === document.body.dataset['viewer'];
      this.#dialog.close();
      /** A member whose session had ended has logged in again over the page. */
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

/**
 * In Chromium, a field that gets the focus back after a dialog may have no caret, and accept no input until it is
 * clicked.
 */
function rememberCaret(): () => void {
  const field = document.activeElement;
  if (!(field instanceof HTMLTextAreaElement)) return () => undefined;
  const { selectionStart, selectionEnd } = field;
  return () => document.activeElement === field && field.setSelectionRange(selectionStart, selectionEnd);
}
define('x-login', Login);
