import { defineToken } from 'parley-forum';

/** Looks whether a Redis can be used, before anything depends on it. */
export interface RedisProbe {
  /** Resolves once it has answered and can be written to; throws what it or the network said. Leaves nothing behind. */
  probe(url: string): Promise<void>;
}
export const RedisProbe = defineToken<RedisProbe>('RedisProbe');
