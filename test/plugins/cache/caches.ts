import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach } from 'vitest';
import type { Cluster, Logger } from 'parley-forum';
import { createCluster } from '../../../core/cluster.ts';
import { createLogger } from '../../../core/host/logger.ts';
import { openCache } from '../../../plugins/cache/open-cache.ts';
import type { TaggedCache } from '../../../plugins/cache/tagged-cache.ts';
import { noTransaction } from './no-transaction.ts';

/** Empty if there is no Redis to test with. */
export const redisUrl = process.env['TEST_REDIS_URL'] ?? '';
export const quiet: Logger = createLogger({ level: 'silent', format: 'json' });

/** Represents a process: a cache with its own connections. */
export interface Process {
  readonly cache: TaggedCache;
  readonly cluster: Cluster;
  current(): boolean;
  close(): Promise<void>;
}

/** A separate Redis namespace for each test, with caches that are closed after it. */
export function useCaches() {
  const undo: (() => unknown)[] = [];
  const place = { namespace: '' };
  beforeEach(() => {
    place.namespace = `test-${randomUUID()}`;
  });
  afterEach(async () => {
    for (const step of undo.splice(0).toReversed()) await step();
  });
  return {
    /** Run after the test, last in, first out. */
    undo,
    place,
    async start(url = redisUrl, log = quiet): Promise<Process> {
      const cluster = createCluster(log);
      const opened = await openCache({ url, namespace: place.namespace, log, cluster, data: noTransaction });
      undo.push(opened.close);
      return { ...opened, cluster };
    },
  };
}
