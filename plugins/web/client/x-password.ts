import { define, t } from '@forum/client';

/** A button that shows the password, rules that are ticked off as they are met, and a Caps Lock warning. */
class Password extends HTMLElement {
  connectedCallback(): void {
    const input = this.querySelector('input');
    if (!input || this.querySelector('button')) return;
    const { show = '', hide = '' } = input.dataset;
    const toggle = document.createElement('button');
    toggle.type = 'button';
    toggle.className = 'button';
    toggle.textContent = show;
    toggle.setAttribute('aria-pressed', 'false');
    toggle.addEventListener('click', () => {
      const shown = input.type === 'password';
      input.type = shown ? 'text' : 'password';
      toggle.textContent = shown ? hide : show;
      toggle.setAttribute('aria-pressed', String(shown));
    });
    input.after(toggle);
    input.form?.addEventListener('submit', () => (input.type = 'password'));
    input.addEventListener('input', () => this.#rules(input.value));
    input.addEventListener('keyup', (event) => this.#caps(event.getModifierState?.('CapsLock') ?? false));
  }

  #rules(value: string): void {
    for (const rule of this.querySelectorAll<HTMLElement>('[data-rule]'))
      rule.classList.toggle('met', new RegExp(rule.dataset['rule'] ?? '', 'u').test(value));
  }

  #caps(on: boolean): void {
    const hint = this.querySelector('.caps');
    if (!on) return hint?.remove();
    if (hint) return;
    const made = document.createElement('p');
    made.className = 'help caps';
    made.setAttribute('role', 'status');
    made.textContent = t('caps');
    this.append(made);
  }
}
define('x-password', Password);
