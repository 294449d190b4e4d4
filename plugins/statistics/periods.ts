import type { Period } from 'parley-forum/plugins/admin';

export const UNITS = ['day', 'month'] as const;
export type Unit = (typeof UNITS)[number];

/** How many periods are shown; as many before them are kept for comparison. */
export const SHOWN: Readonly<Record<Unit, number>> = { day: 30, month: 12 };

const startOf = (unit: Unit, now: Date, back: number): Date =>
  unit === 'day'
    ? new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() - back))
    : new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back));

/** The days or months that are kept, oldest first; the last one is not over yet. */
export const periodsOf = (unit: Unit, now: Date): readonly Period[] =>
  Array.from({ length: 2 * SHOWN[unit] }, (_, at) => {
    const back = 2 * SHOWN[unit] - 1 - at;
    return { from: startOf(unit, now, back), until: startOf(unit, now, back - 1) };
  });
