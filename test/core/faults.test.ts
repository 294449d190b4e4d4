import { afterAll, describe, expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { Copies } from '../bench/faults/prepared.ts';
import type { Ground } from '../bench/faults/scenario.ts';
import { scenarios } from '../bench/faults/scenarios.ts';
import { makeTestPlace, onServer, type TestPlace } from '../kit/database.ts';
import { migrated } from '../kit/migrated.ts';

/** A short version of what `npm run bench -- --faults` tests at length. */
const place = (): Promise<TestPlace> => makeTestPlace(migrated());
/** Faults that affect the files of the embedded database. */
const OF_FILES = ['killed', 'disk-full'];
/** Each kind of fault once; the full run adds silent services, clock jumps, and everything on both databases. */
const OF_SERVERS = ['redis-away', 'database-away', 'killed', 'two-processes', 'stopping'];
const ground: Ground = {
  database: onServer ? 'server' : 'embedded',
  long: false,
  redis: process.env['TEST_REDIS_URL'],
  place,
  forums: new Copies(place),
};
afterAll(() => ground.forums[Symbol.asyncDispose]());
const tried = scenarios.filter(
  (scenario) =>
    scenario.leftOut(ground) === undefined && (FULL || (onServer ? OF_SERVERS : OF_FILES).includes(scenario.id)),
);

describe('no acknowledged write is lost or duplicated, and everything recovers', () => {
  test.each(tried)(
    '$name',
    async (scenario) => {
      expect((await scenario.run(ground)).lost).toEqual([]);
    },
    180_000,
  );
});
