import { defineToken } from 'parley-forum';

/** Tests whether a Redis server is usable before anything depends on it. */
export interface RedisProbe {
  /**
   * Resolves once the server has answered and accepted a write; throws the error of Redis or the network. Leaves
   * nothing behind.
   */
  probe(url: string): Promise<void>;
}
export const RedisProbe = defineToken<RedisProbe>('RedisProbe');
