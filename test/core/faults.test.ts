import { afterAll, describe, expect, test } from 'vitest';
import { Copies } from '../bench/faults/prepared.ts';
import type { Ground } from '../bench/faults/scenario.ts';
import { scenarios } from '../bench/faults/scenarios.ts';
import { makeTestPlace, onServer, type TestPlace } from '../kit/database.ts';
import { migrated } from '../kit/migrated.ts';

/** The short form of what `npm run bench -- --faults` tries at length. */
const place = (): Promise<TestPlace> => makeTestPlace(migrated());
const FULL = process.env['PARLEY_FULL'] === '1';
/** What becomes of the embedded database's files; what else breaks is tried on a server, and on both in full. */
const OF_FILES = ['killed', 'disk-full'];
const ground: Ground = {
  database: onServer ? 'server' : 'embedded',
  long: false,
  redis: process.env['TEST_REDIS_URL'],
  place,
  forums: new Copies(place),
};
afterAll(() => ground.forums[Symbol.asyncDispose]());
const tried = scenarios.filter(
  (scenario) => scenario.leftOut(ground) === undefined && (onServer || FULL || OF_FILES.includes(scenario.id)),
);

describe('nothing that was answered is lost, nothing is doubled, and what is down comes back', () => {
  test.each(tried)(
    '$name',
    async (scenario) => {
      expect((await scenario.run(ground)).lost).toEqual([]);
    },
    180_000,
  );
});
