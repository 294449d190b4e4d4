import type { PluginHandle } from 'parley-forum';
import { accessTag } from 'parley-forum/plugins/access';
import { listCacheTags } from 'parley-forum/plugins/discussions';
import { feedsTag, FORMATS, XML_FORMATS, type FeedFormat } from 'parley-forum/plugins/feeds';
import { tagsTag, type Tags } from 'parley-forum/ports/tags';
import { renderedTag } from 'parley-forum/plugins/web';
import type { Caller } from './callers.ts';
import type { FeedBuilder } from './feed-builder.ts';
import { surfaces } from './surface.ts';
import type { Topic, Topics } from './topics.ts';

export interface RouteDeps {
  readonly topics: Topics;
  readonly feedBuilder: FeedBuilder;
  readonly tags: Tags | undefined;
}
/** Cache tags of everything that a feed contains. */
const CACHE_TAGS: readonly string[] = [feedsTag, ...listCacheTags, accessTag, tagsTag, renderedTag];
type Load = (call: {
  readonly actor: Caller;
  readonly params: Readonly<Record<string, string>>;
}) => Topic | Promise<Topic | undefined>;

/** Adds the routes of all feeds, at the URLs that feed readers know. */
export function addRoutes(plugin: PluginHandle, { topics, feedBuilder, tags }: RouteDeps): void {
  const add = (surface: keyof typeof surfaces, path: string, format: FeedFormat, summary: string, load: Load): void =>
    plugin.route(surfaces[surface], {
      method: 'get',
      path,
      can: 'public',
      summary,
      load,
      cacheTags: () => CACHE_TAGS,
    })(({ target }) => feedBuilder.build(format, target));

  for (const format of FORMATS)
    add('feed', `/${format}`, format, 'The newest discussions', ({ actor }) => topics.all(actor));
  for (const format of XML_FORMATS) {
    add('feed', `/${format}/category/:slug`, format, 'The newest discussions in a category', ({ actor, params }) =>
      topics.category(params['slug'] ?? '', actor),
    );
    add(format, '/user/:id', format, 'The newest discussions of a member', ({ actor, params }) =>
      topics.user(params['id'] ?? '', actor),
    );
    if (tags)
      add(format, '/tag/:id', format, 'The newest discussions with a tag', ({ actor, params }) =>
        topics.tag(params['id'] ?? '', actor),
      );
  }
}
