import { clockMoved } from './clock.ts';
import { databaseAway, databaseSilent } from './database-away.ts';
import { diskFull } from './disk-full.ts';
import { killed } from './killed.ts';
import { redisAway, redisSilent } from './redis-away.ts';
import type { Scenario } from './scenario.ts';
import { stopping } from './stopping.ts';
import { twoProcesses } from './two-processes.ts';

/** What is broken, in the order in which it is told. */
export const scenarios: readonly Scenario[] = [
  redisAway,
  redisSilent,
  databaseAway,
  databaseSilent,
  killed,
  diskFull,
  clockMoved,
  twoProcesses,
  stopping,
];
