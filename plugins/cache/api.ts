import { defineToken } from 'parley-forum';

/** Tests whether a Redis can be used, before anything depends on it. */
export interface RedisProbe {
  /** Resolves once it has answered and can be written to; throws the error of Redis or the network. Leaves nothing behind. */
  probe(url: string): Promise<void>;
}
export const RedisProbe = defineToken<RedisProbe>('RedisProbe');
