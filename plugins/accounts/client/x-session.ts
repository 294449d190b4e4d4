import { api, define, loadElement, t, type Bar } from '@forum/client';

const PATH = '/api/session';
/** Seconds before the end of the session at which the user is warned, and between further checks from then on. */
const WARNING = 300;
const AGAIN = 60;

interface Session {
  /** Seconds until the session expires without activity; null if there is no session. */
  readonly expires_in: number | null;
}

/**
 * Warns users who have written something, but sent nothing for so long that their session is about to expire. Checking
 * the remaining time does not extend the session.
 */
class SessionWatch extends HTMLElement {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #bar: HTMLElement | undefined;
  /** Timers stop while a computer sleeps. */
  readonly #seen = (): void => {
    if (!document.hidden) void this.#look();
  };

  connectedCallback(): void {
    document.addEventListener('visibilitychange', this.#seen);
    void this.#look();
  }

  disconnectedCallback(): void {
    clearTimeout(this.#timer);
    document.removeEventListener('visibilitychange', this.#seen);
    this.#bar?.remove();
  }

  /** `stay`: counts as activity, and so extends the session. */
  async #look(stay = false): Promise<void> {
    clearTimeout(this.#timer);
    const asked = await api<Session>(PATH, ...(stay ? [{}] : [])).catch(() => undefined);
    const left = asked?.expires_in ?? Infinity;
    const near = left <= WARNING;
    if (!near || !isWriting()) this.#bar?.remove();
    else if (!this.#bar?.isConnected) await this.#warn(left);
    // The user may have opened another page or written something in the meantime.
    const seconds = near || !asked ? AGAIN : Math.min(left - WARNING, 86_400);
    clearTimeout(this.#timer);
    if (this.isConnected) this.#timer = setTimeout(() => void this.#look(), seconds * 1_000);
  }

  async #warn(left: number): Promise<void> {
    await loadElement('x-bar');
    const bar = document.createElement('x-bar') as Bar;
    const minutes = Math.max(1, Math.round(left / 60));
    this.#bar = bar;
    bar.show(t('idle', { minutes }), t('stay'), () => void this.#look(true));
  }
}

/** Whether a form contains text that differs from what the server sent. */
const isWriting = (): boolean =>
  [...document.querySelectorAll<HTMLTextAreaElement>('form[method="post"] textarea')].some(
    (area) => area.value !== area.defaultValue,
  );
define('x-session', SessionWatch);
