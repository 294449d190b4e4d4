import { Cache, definePlugin } from 'parley-forum';
import { Limits } from 'parley-forum/plugins/limits';
import { LimitsService } from './service.ts';

export default definePlugin({
  id: 'limits',
  name: 'Rate limits',
  version: '2.0.0',
  description: 'Counts actions for rate limits.',
  defends: true,
  needs: { cache: Cache },
  provides: { limits: Limits },
  setup: ({ cache }, { log }) => ({ limits: new LimitsService({ redis: cache.redis, log }) }),
});
