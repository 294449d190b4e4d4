import type { Extension } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { SafeHtml, type SlotFilling } from '../api.ts';
import { fillSlotPlaceholders, slotPlaceholder } from './placeholders.ts';

/**
 * Runs a plugin's contribution to a page. Resolves to undefined if it fails or is late; the page is sent without it.
 */
export type Attempt = <T>(plugin: string, task: string, work: () => T | Promise<T>) => Promise<T | undefined>;

interface SlotOccurrence {
  readonly slot: string;
  readonly context: unknown;
  readonly fallback: string | undefined;
  /** Output of shared fillings, once they were run. */
  readonly shared: ReadonlyMap<Extension<SlotFilling>, string>;
}
const NOT_ASKED: SlotOccurrence['shared'] = new Map();
/** Shared fillings were run and returned nothing, as for most slots of a cached page. */
const NOTHING: SlotOccurrence['shared'] = new Map();

/** The dependencies for running fillings. */
export interface SlotCollectorDeps {
  readonly fillings: readonly Extension<SlotFilling>[];
  readonly attempt: Attempt;
  /** Whether to mark each slot with comments that name it. */
  readonly marks: boolean;
}

/**
 * Collects the slots of one rendering. They are filled afterwards, with one call per plugin for all occurrences of a
 * slot.
 */
export class SlotCollector {
  readonly #deps: SlotCollectorDeps;
  readonly #occurrences: SlotOccurrence[];

  /** `inner`: slots of a part that was rendered before and is included in this rendering. */
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

  /** Runs the shared fillings and returns the occurrences with their output. `complete`: none failed or was late. */
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

  /** Content of each slot by its index; fillings that fail or are late are left out. */
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
      // The fallback of a block slot may contain slots itself.
      if (filled === '') filled = fillSlotPlaceholders(fallback, contentOf);
      return marks ? markSlot(slot, filled) : filled;
    };
    return { contentOf, complete };
  }

  /** The output of the chosen fillings for each occurrence. */
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

/** Sanitises the id, because templates may compute a slot's id from any value. */
const markSlot = (slot: string, content: string): string => {
  const name = slot.replaceAll(/[^\w.-]|--/g, '');
  return `<!--slot ${name}-->${content}<!--/slot-->`;
};
