import { Cache, Clock, counters, Data, definePlugin, Environment, pluginChanged, Settings, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts, userChanged } from 'parley-forum/plugins/accounts';
import { Admin, figures } from 'parley-forum/plugins/admin';
import {
  Categories,
  categoryDeleted,
  categoryFields,
  categorySaved,
  discussionCreated,
  discussionDeleted,
  discussionFields,
  composerValues,
  discussionStructuredData,
  homeNarrowings,
  listFilters,
  listTagSources,
  shownPosts,
  Discussions,
  discussionUpdated,
  draftAccepted,
  editPost,
  Importer,
  listTabs,
  manageCategories,
  postProjections,
  moderate,
  moderated,
  postCreated,
  postDeleted,
  postFields,
  postLooksChanged,
  postsMoved,
  postSent,
  postUpdated,
  startDiscussion,
  discussionCacheTags,
  writeReply,
} from 'parley-forum/plugins/discussions';
import { eventRules } from 'parley-forum/ports/events';
import { Limits } from 'parley-forum/plugins/limits';
import { Markdown } from 'parley-forum/plugins/markdown';
import { signals } from 'parley-forum/ports/live';
import { pageVisibilityRules } from 'parley-forum/ports/page-visibility';
import { personalData, repeatInBatches } from 'parley-forum/ports/personal-data';
import { suggestionSources } from 'parley-forum/ports/suggestions';
import { Web } from 'parley-forum/plugins/web';
import { DiscussionUrls } from './lists/urls.ts';
import { CategoryService } from './categories/category-service.ts';
import { AuthorStatistics } from './counters/author-statistics.ts';
import { ModerationLog } from './writing/moderation-log.ts';
import { Drafts } from './writing/drafts.ts';
import { DiscussionEditor } from './writing/editor.ts';
import { Redaction } from './erasure/redaction.ts';
import { CategoryEntity, DiscussionEntity, PostEntity } from './entities.ts';
import { Erasure } from './erasure/erasure.ts';
import { discussionRules } from './events/event-rules.ts';
import { BatchImporter } from './writing/import.ts';
import { Projections } from './projections/projections.ts';
import { addPages } from './pages.ts';
import { discussionsData } from './erasure/personal-data.ts';
import { recheckImages } from './writing/image-recheck.ts';
import { pageVisibility } from './reading/page-visibility.ts';
import { participantRoutes } from './reading/participant-routes.ts';
import { Participants } from './reading/participants.ts';
import { DiscussionReader } from './reading/reader.ts';
import { Records } from './reading/records.ts';
import { Revisions } from './revisions/revisions.ts';
import { discussionFigures } from './counters/figures.ts';
import { discussionCounters } from './counters/recount.ts';
import { Rights } from './rights.ts';
import { bulkRoutes } from './bulk/routes.ts';
import { categoryRoutes } from './categories/routes.ts';
import { discussionRoutes } from './discussion-routes.ts';
import { postRoutes } from './post-routes.ts';
import { moveRoutes } from './moving/routes.ts';
import { PostMover } from './moving/post-mover.ts';
import { categorySuggestions, titleSuggestions } from './lists/suggestions.ts';
import { userRoutes } from './lists/user-routes.ts';
import { createService } from './service.ts';
import { PageViewCounter } from './counters/page-views.ts';
import { DiscussionWriter } from './writing/writer.ts';

const DAY = 86_400_000;
const rate = (value: number, title: string, description: string) =>
  Type.Integer({ minimum: 1, default: value, title, description, 'x-group': 'limits' });

export default definePlugin({
  id: 'discussions',
  name: 'Discussions',
  version: '2.0.0',
  description: 'Categories, discussions and posts.',
  needs: {
    data: Data,
    cache: Cache,
    clock: Clock,
    environment: Environment,
    settings: Settings,
    access: Access,
    accounts: Accounts,
    limits: Limits,
    markdown: Markdown,
  },
  wants: { web: Web, admin: Admin },
  provides: { categories: Categories, discussions: Discussions, importer: Importer },
  hooks: [
    discussionCreated,
    discussionUpdated,
    discussionDeleted,
    postCreated,
    postUpdated,
    postDeleted,
    postsMoved,
    composerValues,
    draftAccepted,
    postSent,
    discussionStructuredData,
    shownPosts,
    moderated,
    categorySaved,
    categoryDeleted,
  ],
  extensionPoints: [
    postProjections,
    discussionFields,
    postFields,
    categoryFields,
    listTabs,
    listFilters,
    listTagSources,
    homeNarrowings,
  ],
  permissions: [startDiscussion, writeReply, editPost, moderate, manageCategories],
  settings: Type.Object({
    'posts.rate_limit': rate(20, 'Replies in ten minutes', 'Per member; moderators may write five times as many.'),
    'discussions.rate_limit': rate(
      10,
      'Discussions in an hour',
      'Per member; moderators may start five times as many.',
    ),
    'discussions.new_author_days': Type.Integer({
      default: 14,
      minimum: 0,
      maximum: 365,
      title: 'Days during which authors are new',
      description: 'After their first post; a badge on their posts says so. 0: never.',
    }),
    'posts.undo_minutes': Type.Integer({
      default: 10,
      minimum: 0,
      maximum: 1_440,
      title: 'Minutes to undo a deletion',
      description:
        'Authors can restore a post or discussion they deleted within this time; moderators always can. 0: never.',
    }),
    'posts.public_history': Type.Boolean({
      default: false,
      title: 'History for everybody',
      description:
        'Everyone who can read a post can see its earlier versions; otherwise only its author and moderators.',
    }),
  }),
  entities: [CategoryEntity, DiscussionEntity, PostEntity],
  async setup({ data, cache, clock, environment, settings, access, accounts, limits, markdown, web, admin }, plugin) {
    const projections = new Projections({ plugin, data, clock });
    const categories = new CategoryService({ data, cache, access, clock, projections });
    await categories.open();
    const records = new Records({ plugin, access, accounts, categories, environment, markdown });
    const reader = new DiscussionReader({ data, cache, access, categories, records });
    plugin.extend(signals, {
      name: postLooksChanged,
      description:
        'Something shown with a post changed, such as a link preview: `discussion_id` and its `number`. The post itself is unchanged.',
      visible: async ({ discussion_id: id }: { readonly discussion_id: string }, viewer) =>
        (await reader.find(id, viewer)) !== undefined,
    });
    const rights = new Rights({ access, categories, limits, rates: plugin.settings });
    const drafts = new Drafts(plugin, markdown);
    const writer = new DiscussionWriter({
      data,
      cache,
      clock,
      environment,
      plugin,
      categories,
      drafts,
      projections,
      reader,
      rights,
    });
    const revisions = new Revisions({ data, accounts, categories });
    const moderationLog = new ModerationLog({ plugin, clock });
    const editor = new DiscussionEditor({
      data,
      cache,
      clock,
      environment,
      plugin,
      accounts,
      categories,
      drafts,
      moderationLog,
      projections,
      revisions,
      rights,
    });
    plugin.job('end-pins', {
      schema: Type.Object({}),
      cron: '*/5 * * * *',
      run: () => repeatInBatches(plugin.signal, (limit) => editor.endPins(limit)),
    });
    const mover = new PostMover({
      data,
      cache,
      clock,
      environment,
      plugin,
      accounts,
      categories,
      drafts,
      moderationLog,
      projections,
      reader,
      revisions,
      rights,
    });
    const deps = {
      plugin,
      environment,
      settings,
      clock,
      categories,
      reader,
      records,
      revisions,
      rights,
      writer,
      editor,
      mover,
      web,
    };

    discussionRoutes(deps);
    bulkRoutes(deps);
    postRoutes(deps);
    moveRoutes(deps);
    categoryRoutes(deps);
    userRoutes(deps, accounts);
    participantRoutes(deps, new Participants({ data, accounts }));
    const views = new PageViewCounter({ data, cache, clock, log: plugin.log });
    const newFor = (): number => plugin.settings['discussions.new_author_days'] * DAY;
    plugin.onSettings(async (keys) => {
      if (keys.includes('discussions.new_author_days')) await cache.purge(discussionCacheTags.all);
    });
    const statistics = new AuthorStatistics(data, categories);
    addPages({ ...deps, markdown, newFor }, { data, statistics, views, access, accounts, web, admin });

    plugin.extend(suggestionSources, titleSuggestions(data, categories));
    plugin.extend(suggestionSources, categorySuggestions(categories), 5);
    plugin.extend(pageVisibilityRules, pageVisibility({ data, access, categories }));
    for (const rule of discussionRules({ data, categories, environment })) plugin.extend(eventRules, rule);
    plugin.on(userChanged, () => cache.purge(discussionCacheTags.lists, discussionCacheTags.all), { awaited: true });
    plugin.on(pluginChanged, () => cache.drop(discussionCacheTags.lists, discussionCacheTags.all), { awaited: true });
    const urls = new DiscussionUrls({ data, categories });
    const erasure = new Erasure({
      data,
      cache,
      clock,
      access,
      accounts,
      editor,
      projections,
      redaction: new Redaction({ data, cache, clock, environment, plugin, projections }),
      title: () => web?.text('discussions:erased.title') ?? 'Deleted discussion',
    });
    plugin.extend(personalData, discussionsData(data, erasure));
    for (const counter of discussionCounters({ data, cache })) plugin.extend(counters, counter);
    for (const figure of discussionFigures(data)) plugin.extend(figures, figure);
    await recheckImages({ plugin, data, cache, markdown });
    const discussions = createService({
      plugin,
      data,
      cache,
      reader,
      writer,
      projections,
      rights,
      categories,
      urls,
      statistics,
    });
    return { categories, discussions, importer: new BatchImporter({ data, cache, projections, plugin, markdown }) };
  },
});
