import { Cache, Data, definePlugin, Environment, Cluster } from 'parley-forum';
import { RedisProbe } from 'parley-forum/plugins/cache';
import { openCache } from './open-cache.ts';
import { probe } from './redis.ts';

export default definePlugin({
  id: 'cache',
  name: 'Memory',
  version: '1.0.0',
  description: 'The cache, consistent across processes when REDIS_URL is set.',
  needs: { data: Data, environment: Environment, cluster: Cluster },
  provides: { cache: Cache, probe: RedisProbe },

  async setup({ data, environment, cluster }, plugin) {
    const namespace = `parley:${await data.identity()}`;
    const { cache, close } = await openCache({
      url: environment.redisUrl,
      namespace,
      cluster,
      log: plugin.log,
      data,
    });
    plugin.defer(close);
    return { cache, probe: { probe } };
  },
});
