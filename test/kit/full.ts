/**
 * True in `npm run check:full`, where tests are longer and none is left out. Those that show in a second way what
 * another one shows, or take very long and seldom break, run there alone: `test.runIf(FULL)`.
 */
export const FULL: boolean = process.env['PARLEY_FULL'] === '1';

/** Cases of a table that only `npm run check:full` tries, where those beside them stand for all. */
export const inFull = <Case>(...cases: readonly Case[]): readonly Case[] => (FULL ? cases : []);
