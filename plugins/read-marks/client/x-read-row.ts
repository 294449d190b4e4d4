import { announce, api, define, toast } from '@forum/client';
import { setMark } from './parts/marks.ts';

/** Marks a discussion as read without leaving the list, from which its row then goes. */
class ReadRow extends HTMLElement {
  connectedCallback(): void {
    this.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#read(new FormData(event.target as HTMLFormElement));
    });
  }

  async #read(form: FormData): Promise<void> {
    const [row, number] = [this.closest('.card'), Number(form.get('number'))];
    try {
      await api('/api/read-marks', { read_marks: [{ discussion_id: form.get('discussion_id'), number }] });
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error));
      return;
    }
    setMark(row?.getAttribute('aria-labelledby')?.slice(2) ?? '', number);
    const next = row?.nextElementSibling ?? row?.previousElementSibling;
    // The page then says that there is nothing left, or shows what follows.
    if (!row || !next) return location.reload();
    const focused = row.contains(document.activeElement);
    row.remove();
    announce(this.dataset['done'] ?? '');
    if (focused) next.querySelector<HTMLElement>('.card-read button')?.focus({ preventScroll: true });
  }
}
define('x-read-row', ReadRow);
