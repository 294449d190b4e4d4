import type { Extension } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { SafeHtml, type SlotFilling } from '../api.ts';
import { fillSlotPlaceholders, slotPlaceholder } from './placeholders.ts';

/** What a plugin adds to a page; undefined where it fails or is late, and the page goes on without it. */
export type Attempt = <T>(plugin: string, task: string, work: () => T | Promise<T>) => Promise<T | undefined>;

interface SlotOccurrence {
  readonly slot: string;
  readonly context: unknown;
  readonly fallback: string | undefined;
  /** What shared fillings put there, once they were asked. */
  readonly shared: ReadonlyMap<Extension<SlotFilling>, string>;
}
const NOT_ASKED: SlotOccurrence['shared'] = new Map();
/** They were asked and put nothing there, as in most of the slots of a page that is cached. */
const NOTHING: SlotOccurrence['shared'] = new Map();

/** What runs fillings. */
export interface SlotCollectorDeps {
  readonly fillings: readonly Extension<SlotFilling>[];
  readonly attempt: Attempt;
  /** Whether each slot stands between comments that name it. */
  readonly marks: boolean;
}

/** Collects the slots of one rendering; filled afterwards, with one call per plugin for all occurrences of a slot. */
export class SlotCollector {
  readonly #deps: SlotCollectorDeps;
  readonly #occurrences: SlotOccurrence[];

  /** `inner`: slots of what was rendered before, and is part of this. */
  constructor(deps: SlotCollectorDeps, inner: readonly SlotOccurrence[] = []) {
    this.#deps = deps;
    this.#occurrences = [...inner];
  }

  get occurrences(): readonly SlotOccurrence[] {
    return this.#occurrences;
  }

  add(slot: string, context: unknown, fallback: string | undefined): SafeHtml {
    const { fillings, marks } = this.#deps;
    if (!marks && !fillings.some(({ value }) => value.slot.id === slot)) return new SafeHtml(fallback ?? '');
    this.#occurrences.push({ slot, context, fallback, shared: NOT_ASKED });
    return slotPlaceholder(this.#occurrences.length - 1);
  }

  /** The occurrences with what shared fillings put there; `complete`: none failed or was late. */
  async fillShared(
    representative: Viewer,
  ): Promise<{ readonly occurrences: readonly SlotOccurrence[]; readonly complete: boolean }> {
    const { answers, complete } = await this.#ask(representative, ({ value }) => value.shared);
    return {
      occurrences: this.#occurrences.map((occurrence, at) => {
        const parts = [...answers[at]!].filter(([, part]) => part !== '');
        return { ...occurrence, shared: parts.length > 0 ? new Map(parts) : NOTHING };
      }),
      complete,
    };
  }

  /** What the plugins return for each slot, by its number; a filling that fails or is late is left out. */
  async contents(
    viewer: Viewer,
  ): Promise<{ readonly contentOf: (index: number) => string; readonly complete: boolean }> {
    if (this.#occurrences.length === 0) return { contentOf: () => '', complete: true };
    const { fillings, marks } = this.#deps;
    const { answers, complete } = await this.#ask(
      viewer,
      ({ value }, { shared }) => shared === NOT_ASKED || !value.shared,
    );
    const bySlot = Map.groupBy(fillings, ({ value }) => value.slot.id);
    const contentOf = (index: number): string => {
      const { slot, fallback = '', shared } = this.#occurrences[index]!;
      let filled = '';
      for (const filling of bySlot.get(slot) ?? []) filled += shared.get(filling) ?? answers[index]!.get(filling) ?? '';
      // What a wrapping slot falls back to may hold slots itself.
      if (filled === '') filled = fillSlotPlaceholders(fallback, contentOf);
      return marks ? markSlot(slot, filled) : filled;
    };
    return { contentOf, complete };
  }

  /** What the chosen fillings answer for each occurrence. */
  async #ask(
    viewer: Viewer,
    chosen: (filling: Extension<SlotFilling>, occurrence: SlotOccurrence) => boolean,
  ): Promise<{ readonly answers: readonly ReadonlyMap<Extension<SlotFilling>, string>[]; readonly complete: boolean }> {
    const { fillings, attempt } = this.#deps;
    const answers = this.#occurrences.map(() => new Map<Extension<SlotFilling>, string>());
    const bySlot = Map.groupBy(this.#occurrences.keys(), (at) => this.#occurrences[at]!.slot);
    let complete = true;
    await Promise.all(
      fillings.map(async (filling) => {
        const { slot, render } = filling.value;
        const indexes = bySlot.get(slot.id)?.filter((at) => chosen(filling, this.#occurrences[at]!)) ?? [];
        if (indexes.length === 0) return;
        const contexts = indexes.map((at) => this.#occurrences[at]!.context);
        const found = await attempt(filling.plugin, `slot ${slot.id}`, () => render(contexts, viewer));
        complete &&= found !== undefined;
        indexes.forEach((at, place) => {
          const part = found?.[place];
          answers[at]!.set(filling, part instanceof SafeHtml ? part.toString() : '');
        });
      }),
    );
    return { answers, complete };
  }
}

/** Templates may work out the name of a slot from anything. */
const markSlot = (slot: string, content: string): string => {
  const name = slot.replaceAll(/[^\w.-]|--/g, '');
  return `<!--slot ${name}-->${content}<!--/slot-->`;
};
