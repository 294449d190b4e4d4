/** Number of members processed at a time. */
const BATCH = 500;

/** Splits `items` into batches that one statement can handle easily. */
export const batches = <T>(items: readonly T[]): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(items.length / BATCH) }, (_, at) => items.slice(at * BATCH, (at + 1) * BATCH));
