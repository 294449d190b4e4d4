import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds between two looks at something that is still to come. */
const LOOK = 50;

/** What was found to be otherwise than promised. An empty list is what every fault must leave behind. */
export class Findings {
  readonly #lost = new Map<string, number>();

  /** Each kind of thing once, with how often it was met. */
  get lost(): readonly string[] {
    return [...this.#lost].map(([what, times]) => (times > 1 ? `${what} (${times} times)` : what));
  }

  /** Notes `what` unless it holds; says whether it does. */
  check(holds: boolean, what: string): boolean {
    if (!holds) this.#lost.set(what, (this.#lost.get(what) ?? 0) + 1);
    return holds;
  }

  equal(actual: unknown, expected: unknown, what: string): boolean {
    const [is, should] = [JSON.stringify(actual), JSON.stringify(expected)];
    return this.check(is === should, `${what}: ${is?.slice(0, 300)} instead of ${should?.slice(0, 300)}`);
  }
}

/**
 * Asks again until it is true, at most `seconds`; resolves to the seconds it took, or undefined. What it throws means
 * "not yet".
 */
export async function within(seconds: number, question: () => Promise<boolean>): Promise<number | undefined> {
  const begin = performance.now();
  const passed = (): number => (performance.now() - begin) / 1_000;
  while (passed() < seconds) {
    if (await question().catch(() => false)) return passed();
    await sleep(LOOK);
  }
  return undefined;
}
