/**
 * True in `npm run check:full`, where tests are longer and none are left out. Tests that cover what another one already
 * covers, or that take very long and rarely fail, run only there: `test.runIf(FULL)`.
 */
export const FULL: boolean = process.env['PARLEY_FULL'] === '1';

/** Cases of a table test that run only in `npm run check:full`, where the remaining ones are representative. */
export const inFull = <Case>(...cases: readonly Case[]): readonly Case[] => (FULL ? cases : []);
