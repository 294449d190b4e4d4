import { afterAll, describe, expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { Copies } from '../bench/faults/prepared.ts';
import type { Ground } from '../bench/faults/scenario.ts';
import { scenarios } from '../bench/faults/scenarios.ts';
import { makeTestPlace, onServer, type TestPlace } from '../kit/database.ts';
import { migrated } from '../kit/migrated.ts';

/** A short version of what `npm run bench -- --faults` tests at length. */
const place = (): Promise<TestPlace> => makeTestPlace(migrated());
/**
 * What fails most often: the process on either database, and the services it uses. The full run adds full disks, silent
 * services, clock jumps, a second process, and everything on both databases.
 */
const OF_FILES = ['killed'];
const OF_SERVERS = ['redis-away', 'database-away', 'killed'];
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
