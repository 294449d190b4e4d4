import { Clock, Data, definePlugin, Environment, Settings, Type } from 'parley-forum';
import {
  composerValues,
  discussionCreated,
  Discussions,
  postCreated,
  postHeld,
  postsMoved,
  postUpdated,
} from 'parley-forum/plugins/discussions';
import { Markdown } from 'parley-forum/plugins/markdown';
import { draftForms, Drafts } from 'parley-forum/ports/drafts';
import { personalData, repeatInBatches } from 'parley-forum/ports/personal-data';
import { fileTexts } from 'parley-forum/ports/pictures';
import { Web } from 'parley-forum/plugins/web';
import { DraftService } from './draft-service.ts';
import { DraftStore } from './draft-store.ts';
import { draftPages } from './pages.ts';
import { draftsPersonalData } from './personal-data.ts';
import { draftRoutes } from './routes.ts';

export default definePlugin({
  id: 'drafts',
  name: 'Drafts',
  version: '1.0.0',
  description: 'Saves what members are writing, on all their devices.',
  needs: {
    data: Data,
    clock: Clock,
    environment: Environment,
    settings: Settings,
    discussions: Discussions,
    markdown: Markdown,
  },
  wants: { web: Web },
  provides: { drafts: Drafts },
  extensionPoints: [draftForms],
  settings: Type.Object({
    'drafts.most': Type.Integer({
      default: 100,
      minimum: 1,
      maximum: 1_000,
      title: 'Drafts of a member',
      description: 'Per member.',
    }),
    'drafts.bytes': Type.Integer({
      default: 2_000_000,
      minimum: 100_000,
      title: 'Total size of a member’s drafts, in bytes',
      description: 'All drafts of one member together.',
    }),
    'drafts.days': Type.Integer({
      default: 365,
      minimum: 0,
      title: 'Days to keep drafts',
      description: 'Since the last change; 0 keeps them forever.',
    }),
    'drafts.rate_limit': Type.Integer({
      default: 600,
      minimum: 1,
      title: 'Draft changes per ten minutes',
      description: 'How often a member’s drafts may be saved; moderators five times as often.',
      'x-group': 'limits',
    }),
  }),
  setup({ data, clock, environment, settings, discussions, markdown, web }, plugin) {
    const store = new DraftStore({ data, clock });
    const limits = () => ({ most: plugin.settings['drafts.most'], bytes: plugin.settings['drafts.bytes'] });
    const others = () => plugin.extensions(draftForms);
    const drafts = new DraftService({
      data,
      environment,
      discussions,
      others,
      attempt: plugin.attempt,
      markdown,
      store,
      limits,
    });
    draftRoutes({ plugin, settings, drafts });
    if (web) draftPages({ plugin, settings, discussions, others, drafts, store, web });
    plugin.extend(personalData, draftsPersonalData(data));
    plugin.extend(fileTexts, { table: 'draft', column: 'fields' });

    plugin.on(composerValues, async (values, { key, viewer }) => ({
      ...values,
      ...(await drafts.values(key, viewer)),
    }));
    // However the text was sent: scripts in the browser remove the draft themselves, but forms sent without scripts do
    // not.
    const done = { awaited: true };
    plugin.on(
      discussionCreated,
      ({ discussion: { author, title }, content }) => store.removeSentDiscussion(author.id, { title, content }),
      done,
    );
    plugin.on(
      postCreated,
      ({ post: { author, discussion_id, content } }) =>
        store.removeSent(author.id, [`reply-${discussion_id}`], content),
      done,
    );
    plugin.on(
      postHeld,
      ({ held_post: { author, discussion_id: discussionId }, title, content }) =>
        discussionId === null
          ? store.removeSentDiscussion(author.id, { title, content })
          : store.removeSent(author.id, [`reply-${discussionId}`], content),
      done,
    );
    plugin.on(
      postUpdated,
      ({ post: { author, id, content } }) => store.removeSent(author.id, [`edit-${id}`], content),
      done,
    );
    plugin.on(
      postsMoved,
      ({ source, discussion, merged }) => (merged ? store.moveReplies(source.id, discussion.id) : undefined),
      done,
    );

    plugin.job('forget', {
      schema: Type.Object({}),
      cron: '53 3 * * *',
      run: async () => {
        const days = plugin.settings['drafts.days'];
        if (days > 0) await repeatInBatches(plugin.signal, (limit) => store.removeOld(days, limit));
      },
    });
    return { drafts };
  },
});
