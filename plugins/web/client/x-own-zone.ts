import { button, define } from '@forum/client';

/** A button that chooses the time zone of the browser in the field before it, where times are told in another one. */
class OwnZone extends HTMLElement {
  connectedCallback(): void {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const select = this.closest('form')?.querySelector<HTMLSelectElement>('select[name="timezone"]');
    if (!select || (select.value || this.dataset['site']) === zone) return;
    const label = (this.dataset['text'] ?? '').replace('{zone}', zone.replaceAll('_', ' '));
    const choose = button(label, () => {
      // By another name than the site has for it, in some browsers.
      if (![...select.options].some(({ value }) => value === zone)) select.add(new Option(zone));
      select.value = zone;
      select.focus();
      choose.remove();
    });
    choose.className = 'button small';
    this.replaceChildren(choose);
  }
}
define('x-own-zone', OwnZone);
