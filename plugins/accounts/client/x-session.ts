import { api, define, loadElement, t, type Bar } from '@forum/client';

const PATH = '/api/session';
/** Seconds before the session ends in which the writer is warned, and until it is looked at again meanwhile. */
const WARNING = 300;
const AGAIN = 60;

interface Session {
  /** In seconds, where nothing is done; null where there is none. */
  readonly expires_in: number | null;
}

/**
 * Warns whoever has written something and sent nothing for so long that their session is about to end; asking how long
 * that takes does not make it last longer.
 */
class SessionWatch extends HTMLElement {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #bar: HTMLElement | undefined;
  /** Timers stand still while a computer sleeps. */
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
    const bar = document.createElement('x-bar') as Bar;
    const minutes = Math.max(1, Math.round(left / 60));
    this.#bar = bar;
    bar.show(t('idle', { minutes }), t('stay'), () => void this.#look(true));
  }
}

/** Whether a form has a text that is not as the server sent it. */
const isWriting = (): boolean =>
  [...document.querySelectorAll<HTMLTextAreaElement>('form[method="post"] textarea')].some(
    (area) => area.value !== area.defaultValue,
  );
define('x-session', SessionWatch);
