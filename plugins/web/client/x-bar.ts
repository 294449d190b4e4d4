import { announce, button, define, t, type Bar } from '@forum/client';

/** A line at the foot of the window that waits until something is done about it, or it is put away. */
class QuietBar extends HTMLElement implements Bar {
  show(text: string, label: string, run: () => void): void {
    const words = Object.assign(document.createElement('p'), { textContent: text });
    const act = button(label, run);
    act.className = 'button primary small';
    const away = button(t('close'), () => this.remove());
    away.className = 'button quiet small';
    this.className = 'notice-bar';
    this.role = 'region';
    this.ariaLabel = text;
    this.replaceChildren(words, act, away);
    document.body.append(this);
    announce(text);
  }

  /** What else is at the foot of the window makes room. */
  connectedCallback(): void {
    document.documentElement.classList.add('noticing');
  }

  disconnectedCallback(): void {
    document.documentElement.classList.remove('noticing');
  }
}
define('x-bar', QuietBar);
