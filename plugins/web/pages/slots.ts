import type { Extension } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { SafeHtml, type SlotFilling } from '../api.ts';
import { fillSlotPlaceholders, slotPlaceholder } from './placeholders.ts';

/** Milliseconds a filling may take before the page goes on without it. */
export const SLOT_BUDGET = 50;

export type Attempt = <T>(
  plugin: string,
  task: string,
  work: () => T | Promise<T>,
  deadline?: number,
) => Promise<T | undefined>;

interface SlotOccurrence {
  readonly slot: string;
  readonly context: unknown;
  readonly fallback: string | undefined;
}

/** Collects the slots of one rendering; filled afterwards, with one call per plugin for all occurrences of a slot. */
export class SlotCollector {
  readonly #occurrences: SlotOccurrence[] = [];
  readonly #marks: boolean;

  /** `marks`: each slot stands between comments that name it. */
  constructor(marks = false) {
    this.#marks = marks;
  }

  add(slot: string, context: unknown, fallback: string | undefined): SafeHtml {
    this.#occurrences.push({ slot, context, fallback });
    return slotPlaceholder(this.#occurrences.length - 1);
  }

  /** Replaces the placeholders with what the plugins return; a filling that fails or is late is left out. */
  async fill(
    text: string,
    fillings: readonly Extension<SlotFilling>[],
    viewer: Viewer,
    attempt: Attempt,
  ): Promise<{ readonly text: string; readonly complete: boolean }> {
    if (this.#occurrences.length === 0) return { text, complete: true };
    let complete = true;
    const content = this.#occurrences.map(() => '');
    const bySlot = Map.groupBy(this.#occurrences.keys(), (index) => this.#occurrences[index]?.slot ?? '');
    const work = [...bySlot].map(async ([slot, indexes]) => {
      const contexts = indexes.map((index) => this.#occurrences[index]?.context);
      const asked = fillings.filter(({ value }) => value.slot.id === slot);
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
      fillSlotPlaceholders(part, (index) => {
        const { slot = '', fallback = '' } = this.#occurrences[index] ?? {};
        const filled = content[index] || put(fallback);
        return this.#marks ? markSlot(slot, filled) : filled;
      });
    return { text: put(text), complete };
  }
}

/** Templates may work out the name of a slot from anything. */
const markSlot = (slot: string, content: string): string => {
  const name = slot.replaceAll(/[^\w.-]|--/g, '');
  return `<!--slot ${name}-->${content}<!--/slot-->`;
};
