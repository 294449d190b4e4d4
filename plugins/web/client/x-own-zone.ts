import { button, define } from '@forum/client';

/** A button that selects the browser's time zone in the field before it; shown if times are in another zone. */
class OwnZone extends HTMLElement {
  connectedCallback(): void {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const select = this.closest('form')?.querySelector<HTMLSelectElement>('select[name="timezone"]');
    if (!select || (select.value || this.dataset['site']) === zone) return;
    const label = (this.dataset['text'] ?? '').replace('{zone}', zone.replaceAll('_', ' '));
    const choose = button(label, () => {
      // Some browsers use a name for the zone that is not among the site's.
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
