import { announce, api, define, toast } from '@forum/client';

interface Voted {
  readonly poll: { readonly options: readonly { readonly text: string; readonly votes: number }[] };
}

/** The form of a poll, sent without leaving the page; without script it is an ordinary form. */
class PollElement extends HTMLElement {
  connectedCallback(): void {
    this.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#vote(new FormData(event.target as HTMLFormElement));
    });
  }

  async #vote(form: FormData): Promise<void> {
    const option = Number(form.get('option'));
    try {
      const { poll } = await api<Voted>(`/api/discussions/${this.dataset['discussion']}/vote`, { option }, 'PUT');
      const counts = this.querySelectorAll('.poll-count');
      poll.options.forEach(({ votes }, index) => {
        counts[index]!.textContent = votes.toLocaleString(document.documentElement.lang);
      });
      announce(`${poll.options[option]!.text}: ${poll.options[option]!.votes}`);
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error));
    }
  }
}
define('x-poll', PollElement);
