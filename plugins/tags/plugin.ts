import { Cache, Clock, counters, Data, definePlugin, Settings, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Admin } from 'parley-forum/plugins/admin';
import {
  Categories,
  discussionFields,
  Discussions,
  listTagSources,
  postProjections,
} from 'parley-forum/plugins/discussions';
import { personalData } from 'parley-forum/ports/personal-data';
import { suggestionSources } from 'parley-forum/ports/suggestions';
import { createTags, manageTags, tagSaved } from 'parley-forum/plugins/tags';
import { tagDeleted, Tags } from 'parley-forum/ports/tags';
import { Web } from 'parley-forum/plugins/web';
import { adminPages } from './admin-pages.ts';
import { Assignments } from './assignments.ts';
import { listTagSource } from './list-tags.ts';
import { TagCounts } from './tag-counts.ts';
import { tagPages, tagSlots } from './pages.ts';
import { tagsPersonalData } from './personal-data.ts';
import { tagCounters } from './recount.ts';
import { tagRoutes } from './routes.ts';
import { tagSuggestions } from './suggestions.ts';
import { TagService } from './tag-service.ts';
import { VisibleTags } from './visible-tags.ts';

export default definePlugin({
  id: 'tags',
  name: 'Tags',
  version: '2.0.0',
  description: 'Tags that group discussions across categories.',
  needs: {
    data: Data,
    cache: Cache,
    clock: Clock,
    settings: Settings,
    access: Access,
    categories: Categories,
    discussions: Discussions,
  },
  wants: { web: Web, admin: Admin },
  provides: { tags: Tags },
  hooks: [tagSaved, tagDeleted],
  permissions: [createTags, manageTags],
  settings: Type.Object({
    'tags.max': Type.Integer({
      default: 5,
      minimum: 0,
      maximum: 20,
      title: 'Tags of a discussion',
      description: 'Maximum number per discussion.',
    }),
  }),
  async setup({ data, cache, clock, settings, access, categories, discussions, web, admin }, plugin) {
    const tags = new TagService({ data, cache });
    await tags.refresh();
    const counts = new TagCounts({ data, cache, categories });
    const max = (): number => plugin.settings['tags.max'];
    const assignments = new Assignments({ data, cache, access, tags, counts, max });
    const visible = new VisibleTags(tags, counts, assignments);
    plugin.extend(discussionFields, assignments.field());
    const projection = assignments.projection();
    plugin.extend(postProjections, projection);
    await plugin.backfill(discussions.postBackfill(projection));

    plugin.extend(listTagSources, listTagSource({ data, cache, tags, counts, visible }));
    const deps = { plugin, settings, clock, tags, counts, visible, discussions, web };
    plugin.extend(suggestionSources, tagSuggestions(tags, counts), 20);
    tagRoutes(deps);
    tagPages(deps);
    plugin.extend(personalData, tagsPersonalData(data));
    for (const counter of tagCounters({ data, cache, counts })) plugin.extend(counters, counter);
    if (web) tagSlots(deps, { assignments, web, max });
    if (admin) adminPages(deps, admin);
    return { tags: visible };
  },
});
