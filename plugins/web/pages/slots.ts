import type { Extension } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { SafeHtml, type SlotFilling } from '../api.ts';
import { fillSlotMarks, slotMark } from './placeholders.ts';

/** Milliseconds a filling may take before the page goes on without it. */
export const SLOT_BUDGET = 50;

export type Attempt = <T>(
  plugin: string,
  task: string,
  work: () => T | Promise<T>,
  deadline?: number,
) => Promise<T | undefined>;

interface Place {
  readonly slot: string;
  readonly context: unknown;
  readonly fallback: string | undefined;
}

/** The slots one rendering met; filled afterwards, each plugin asked once for all places of a slot. */
export class SlotPlaces {
  readonly #places: Place[] = [];

  add(slot: string, context: unknown, fallback: string | undefined): SafeHtml {
    this.#places.push({ slot, context, fallback });
    return slotMark(this.#places.length - 1);
  }

  /** Puts what the plugins answer where the marks are; a filling that fails or is late leaves nothing. */
  async fill(
    text: string,
    fillings: readonly Extension<SlotFilling>[],
    viewer: Viewer,
    attempt: Attempt,
  ): Promise<{ readonly text: string; readonly complete: boolean }> {
    if (this.#places.length === 0) return { text, complete: true };
    let complete = true;
    const content = this.#places.map(() => '');
    const bySlot = Map.groupBy(this.#places.keys(), (index) => this.#places[index]?.slot ?? '');
    const work = [...bySlot].map(async ([slot, indexes]) => {
      const contexts = indexes.map((index) => this.#places[index]?.context);
      const asked = fillings.filter(({ value }) => value.slot === slot);
      const answers = await Promise.all(
        asked.map(({ plugin, value }) =>
          attempt(plugin, `slot ${slot}`, () => value.render(contexts, viewer), SLOT_BUDGET),
        ),
      );
      complete &&= answers.every((answer) => answer !== undefined);
      indexes.forEach((index, at) => {
        content[index] = answers
          .map((answer) => (answer?.[at] instanceof SafeHtml ? answer[at].toString() : ''))
          .join('');
      });
    });
    await Promise.all(work);
    // What a wrapping slot falls back to may hold slots itself.
    const put = (part: string): string =>
      fillSlotMarks(part, (index) => content[index] || put(this.#places[index]?.fallback ?? ''));
    return { text: put(text), complete };
  }
}
