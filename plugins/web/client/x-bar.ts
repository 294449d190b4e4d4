import { announce, button, define, t, type Bar } from '@forum/client';

/** A line at the bottom of the window that stays until its button is pressed or it is dismissed. */
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

  /** Makes other elements at the bottom of the window make room. */
  connectedCallback(): void {
    document.documentElement.classList.add('noticing');
  }

  disconnectedCallback(): void {
    document.documentElement.classList.remove('noticing');
  }
}
define('x-bar', QuietBar);
