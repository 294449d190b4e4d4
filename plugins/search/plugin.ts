import { Cache, Clock, Data, definePlugin, Environment, Http, Settings, Type } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories, Discussions, postProjections } from 'parley-forum/plugins/discussions';
import { Limits } from 'parley-forum/plugins/limits';
import { Search, searchTag } from 'parley-forum/plugins/search';
import { Tags } from 'parley-forum/ports/tags';
import { suggestionSources } from 'parley-forum/ports/suggestions';
import { Web } from 'parley-forum/plugins/web';
import { IndexMaintenance } from './index-maintenance.ts';
import { LANGUAGES } from './languages.ts';
import { SearchProjection } from './projection.ts';
import { addPages } from './pages.ts';
import { addRoutes } from './routes.ts';
import { SearchService } from './service.ts';
import { addRelated, addRelatedRoute } from './related.ts';
import { addSimilarDiscussions } from './similar-discussions.ts';
import { addSuggestions } from './suggestions.ts';

export default definePlugin({
  id: 'search',
  name: 'Search',
  version: '2.0.0',
  description: 'Search for discussions, posts and members.',
  needs: {
    data: Data,
    cache: Cache,
    clock: Clock,
    http: Http,
    environment: Environment,
    settings: Settings,
    limits: Limits,
    accounts: Accounts,
    categories: Categories,
    discussions: Discussions,
  },
  wants: { tags: Tags, web: Web },
  provides: { search: Search },
  extensionPoints: [suggestionSources],
  settings: Type.Object({
    'search.language': Type.Enum([...LANGUAGES], {
      default: 'english',
      title: 'Language of the search',
      description: 'Used to match different forms of a word. After a change all posts are reindexed in the background.',
    }),
    'search.rate_limit': Type.Integer({
      default: 60,
      minimum: 1,
      title: 'Searches a minute',
      description: 'Per member, or per address for guests; five times as many for moderators.',
      'x-group': 'limits',
    }),
    'search.suggestion_rate_limit': Type.Integer({
      default: 120,
      minimum: 1,
      title: 'Suggestions a minute',
      description: 'Suggestions while typing in the search or a new title: per member, or per address for guests.',
      'x-group': 'limits',
    }),
  }),
  async setup(
    { data, cache, clock, http, environment, settings, limits, accounts, categories, discussions, tags, web },
    plugin,
  ) {
    const language = () => plugin.settings['search.language'];
    const projection = new SearchProjection(data, language);
    const changed = (): Promise<void> => cache.purge(searchTag);
    const maintenance = new IndexMaintenance({ data, discussions, projection, log: plugin.log, language, changed });
    const job = plugin.job('reindex', {
      schema: Type.Object({}),
      key: () => 'reindex',
      perKey: 1,
      run: (_payload, { signal }) => maintenance.reindex(signal).finally(changed),
    });
    plugin.onSettings(async (keys) => void (keys.includes('search.language') && (await job.add({}))));
    plugin.extend(postProjections, projection);
    await plugin.backfill(maintenance.backfill(), { initial: true });
    if (await maintenance.isOutdated()) await job.add({}, { once: true });

    const search = new SearchService({ data, cache, environment, accounts, categories, discussions, tags, language });
    addRoutes(plugin, { search, settings, clock });
    addSuggestions(plugin, { clock, web });
    addSimilarDiscussions(plugin, search, web);
    addRelatedRoute(plugin, search, discussions);
    if (web) addRelated(plugin, search, { discussions, web });
    if (web) addPages(plugin, search, { web, limits, http, categories, tagged: tags !== undefined });
    return { search };
  },
});
