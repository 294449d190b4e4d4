/** Members or rows that are dealt with at a time. */
const BATCH = 500;

/** `items` in parts of a size that one statement takes easily. */
export const batches = <T>(items: readonly T[]): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(items.length / BATCH) }, (_, at) => items.slice(at * BATCH, (at + 1) * BATCH));

/** Repeats `step` until it answers fewer than it was asked for. */
export async function batched(step: (limit: number) => Promise<readonly unknown[]>): Promise<void> {
  while ((await step(BATCH)).length === BATCH);
}
