import { Cache, Clock, definePlugin, Settings } from 'parley-forum';
import { isGuest } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { composerFields, Discussions, postCreated } from 'parley-forum/plugins/discussions';
import { Live, signals } from 'parley-forum/ports/live';
import { Presence } from 'parley-forum/plugins/presence';
import { Typing, type TypingSignal } from 'parley-forum/plugins/typing';
import { fill, slotFillings, Web } from 'parley-forum/plugins/web';
import { typingRoutes } from './routes.ts';
import { SIGNAL, TypingService } from './typing-service.ts';
import { MemoryTypistStore, RedisTypistStore } from './typist-store.ts';

export default definePlugin({
  id: 'typing',
  name: 'Typing indicator',
  version: '1.0.0',
  description: 'Shows who is writing a reply.',
  // Presence is needed because its rate limit covers both, and it knows who hides their presence.
  needs: {
    cache: Cache,
    clock: Clock,
    settings: Settings,
    accounts: Accounts,
    discussions: Discussions,
    presence: Presence,
  },
  wants: { live: Live, web: Web },
  provides: { typing: Typing },
  setup({ cache, clock, settings, accounts, discussions, presence, live, web }, plugin) {
    const store = cache.redis ? new RedisTypistStore(cache.redis) : new MemoryTypistStore(clock);
    const typing = new TypingService({ store, accounts, presence, live, cache, log: plugin.log });
    typingRoutes(plugin, { typing, discussions, settings });

    plugin.on(postCreated, ({ post }) => typing.stop(post.discussion_id, post.author.id), { awaited: true });
    plugin.extend(signals, {
      name: SIGNAL,
      description:
        'Someone started or stopped writing in a discussion: `discussion_id`, `user` and whether they are writing.',
      visible: async ({ discussion_id }: TypingSignal, viewer) =>
        (await discussions.find(discussion_id, viewer)) !== undefined,
    });
    if (web) {
      plugin.extend(
        slotFillings,
        fill(
          composerFields,
          (contexts, viewer) =>
            Promise.all(
              contexts.map(async ({ discussion }) =>
                discussion && !isGuest(viewer)
                  ? web.fragment(viewer, '@typing/line', { discussion: discussion.id })
                  : undefined,
              ),
            ),
          { shared: true },
        ),
      );
    }
    return { typing };
  },
});
