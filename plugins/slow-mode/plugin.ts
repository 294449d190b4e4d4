import { Cache, Data, definePlugin, HttpError } from 'parley-forum';
import { Access, type Viewer } from 'parley-forum/plugins/access';
import {
  Categories,
  composerFields,
  discussionFields,
  headBadges,
  moderate,
  postSent,
} from 'parley-forum/plugins/discussions';
import { assertAllowed, Limits } from 'parley-forum/plugins/limits';
import { Pause, slowModeChanged } from 'parley-forum/plugins/slow-mode';
import { fill, slotFillings, Web } from 'parley-forum/plugins/web';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { SlowModeStore } from './slow-mode-store.ts';

export default definePlugin({
  id: 'slow-mode',
  name: 'Slow mode',
  version: '1.0.0',
  description: 'Makes members wait between replies in heated discussions.',
  needs: { data: Data, cache: Cache, access: Access, limits: Limits, categories: Categories },
  wants: { web: Web },
  hooks: [slowModeChanged],
  setup({ data, cache, access, limits, categories, web }, plugin) {
    const store = new SlowModeStore({ data, cache });
    const moderates = (categoryId: string, viewer: Viewer): boolean => {
      const category = categories.find(categoryId, viewer);
      return category !== undefined && categories.rights(category, viewer).moderate;
    };
    plugin.extend(discussionFields, {
      name: 'slow_mode_seconds',
      result: Pause,
      async loadMany(ids) {
        const pauses = await store.all();
        return ids.map((id) => pauses.get(id) ?? 0);
      },
      body: Pause,
      async save(_em, id, value, viewer) {
        if (!access.allows(viewer, moderate)) throw new HttpError(403, 'Only moderators can set slow mode');
        const seconds = value as number;
        if (await store.set(id, seconds))
          await plugin.emit(slowModeChanged, { discussion_id: id, seconds, by: viewer.id });
      },
    });
    plugin.extend(
      auditRules,
      audited(slowModeChanged, ['discussion.slowed'], ({ by, discussion_id: id, seconds }) => ({
        action: 'discussion.slowed',
        actor: by,
        subject: { type: 'discussion', id },
        details: { seconds },
      })),
    );

    plugin.on(postSent, async (held, { author, discussion }) => {
      if (held || !discussion || moderates(discussion.categoryId, author)) return held;
      const seconds = await store.of(discussion.id);
      if (seconds === 0) return held;
      const bucket = { name: 'slow-mode', window: seconds };
      // Each pause has its own bucket, so that members need not wait out a longer pause that was shortened.
      assertAllowed(
        await limits.consume(bucket, `${discussion.id} ${author.id} ${seconds}`, 1),
        (wait) => `This discussion is in slow mode: wait ${wait} s before your next reply`,
      );
      return held;
    });

    if (!web) return;
    plugin.extend(
      slotFillings,
      fill(
        headBadges,
        (discussions, viewer) =>
          Promise.all(
            discussions.map(async ({ id }) => {
              const seconds = await store.of(id);
              return seconds === 0
                ? undefined
                : web.fragment(viewer, '@slow-mode/badge', { pause: `slow-mode:pause.${seconds}` });
            }),
          ),
        { shared: true },
      ),
    );
    plugin.extend(
      slotFillings,
      fill(composerFields, (forms, viewer) =>
        Promise.all(
          forms.map(async ({ writes, discussion, values }) => {
            if (writes !== 'discussion' || !discussion || !moderates(discussion.categoryId, viewer)) return undefined;
            const value = values['slow_mode_seconds'] ?? (await store.of(discussion.id));
            return web.fragment(viewer, '@slow-mode/field', { value });
          }),
        ),
      ),
    );
  },
});
