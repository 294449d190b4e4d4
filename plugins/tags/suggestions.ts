import { discussionCacheTags } from 'parley-forum/plugins/discussions';
import type { SuggestionSource } from 'parley-forum/ports/suggestions';
import { tagsTag } from 'parley-forum/ports/tags';
import type { TagCounts } from './tag-counts.ts';
import type { TagService } from './tag-service.ts';

/** Suggests tags in whose name a word starts with the text; all tags are in memory. */
export const tagSuggestions = (tags: TagService, counts: TagCounts): SuggestionSource => ({
  label: 'tags:title',
  tags: [tagsTag, discussionCacheTags.lists, discussionCacheTags.categories],
  async find(text, viewer, limit) {
    await tags.refresh();
    const places = tags
      .all()
      .map((tag) => ({ tag, place: ` ${tag.name.toLowerCase().replaceAll('-', ' ')}`.indexOf(` ${text}`) }));
    const found = places
      .filter(({ place }) => place >= 0)
      .toSorted((a, b) => Number(a.place > 0) - Number(b.place > 0));
    const records = await counts.records(
      found.map(({ tag }) => tag),
      viewer,
    );
    return records
      .filter(({ discussion_count: discussions }) => discussions > 0)
      .slice(0, limit)
      .map(({ name, slug }) => ({ label: name, path: `/t/${encodeURIComponent(slug)}` }));
  },
});
