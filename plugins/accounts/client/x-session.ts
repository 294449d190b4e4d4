import { api, define, loadElement, t, type Bar, type LoginDialog } from '@forum/client';

const PATH = '/api/session';
/** Seconds before the session ends in which the writer is warned, and until it is looked at again meanwhile. */
const WARNING = 300;
const AGAIN = 60;
/** Milliseconds in which a page that is about to be left, as by logging out on it, is gone. */
const LEAVING = 1_000;

interface Session {
  /** In seconds, where nothing is done; null where there is none. */
  readonly expires_in: number | null;
}

/**
 * Warns whoever has written something and sent nothing for so long that their session is about to end; asking how long
 * that takes does not make it last longer. Says at once when it was ended elsewhere.
 */
class SessionWatch extends HTMLElement {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #bar: Bar | undefined;
  /** Timers stand still while a computer sleeps. */
  readonly #seen = (): void => {
    if (!document.hidden) void this.#look();
  };

  connectedCallback(): void {
    document.addEventListener('visibilitychange', this.#seen);
    document.addEventListener('parley:session.ended', this.#ended);
    void this.#look();
  }

  disconnectedCallback(): void {
    clearTimeout(this.#timer);
    document.removeEventListener('visibilitychange', this.#seen);
    document.removeEventListener('parley:session.ended', this.#ended);
    this.#bar?.remove();
  }

  readonly #ended = async (): Promise<void> => {
    this.#bar?.remove();
    await new Promise((done) => setTimeout(done, LEAVING));
    // Whoever logs in on the page they look at need not be asked on the others.
    while (document.hidden)
      await new Promise((done) => document.addEventListener('visibilitychange', done, { once: true }));
    await loadElement('x-login');
    await (document.createElement('x-login') as LoginDialog).ask(t('over')).catch(() => false);
  };

  /** `stay`: this counts as something that was done. */
  async #look(stay = false): Promise<void> {
    clearTimeout(this.#timer);
    const asked = await api<Session>(PATH, ...(stay ? [{}] : [])).catch(() => undefined);
    const left = asked?.expires_in ?? Infinity;
    const near = left <= WARNING;
    if (!near || !isWriting()) this.#bar?.remove();
    else if (!this.#bar?.isConnected) await this.#warn(left);
    // Another page may have been opened meanwhile, or something been written.
    const seconds = near || !asked ? AGAIN : Math.min(left - WARNING, 86_400);
    clearTimeout(this.#timer);
    if (this.isConnected) this.#timer = setTimeout(() => void this.#look(), seconds * 1_000);
  }

  async #warn(left: number): Promise<void> {
    await loadElement('x-bar');
    this.#bar = document.createElement('x-bar') as Bar;
    const minutes = Math.max(1, Math.round(left / 60));
    this.#bar.tell(t('idle', { minutes }), t('stay'), () => void this.#look(true));
  }
}

/** Whether a form has a text that is not as the server sent it. */
const isWriting = (): boolean =>
  [...document.querySelectorAll<HTMLTextAreaElement>('form[method="post"] textarea')].some(
    (area) => area.value !== area.defaultValue,
  );
define('x-session', SessionWatch);
