import { defineExtensionPoint, type Request } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

export const FORMATS = ['rss', 'atom', 'json'] as const;
export type FeedFormat = (typeof FORMATS)[number];
/** The formats of feeds about a part of the forum. */
export const XML_FORMATS = ['rss', 'atom'] as const satisfies readonly FeedFormat[];

/** What a feed is about. Categories go by slug, members and tags by id. */
export type FeedTopic = Readonly<
  { kind: 'all' } | { kind: 'category'; slug: string } | { kind: 'user' | 'tag'; id: string }
>;

/** The path of a feed. Only that of everything comes as JSON. */
export function feedPath(format: FeedFormat, topic: FeedTopic = { kind: 'all' }): string {
  if (topic.kind === 'all') return `/feed/${format}`;
  if (topic.kind === 'category') return `/feed/${format}/category/${encodeURIComponent(topic.slug)}`;
  return `/${format}/${topic.kind}/${topic.id}`;
}

/** For whom a feed is made. */
export interface FeedReader {
  readonly viewer: Viewer;
  /** Of these categories only; the feed of any other category is what everybody gets. */
  readonly categoryIds?: readonly string[] | undefined;
}

/** A way in which a URL may say who reads a feed, beside sessions and bearer tokens. */
export interface FeedIdentity {
  /**
   * Whether this path and query may name somebody. Asked for every request, so synchronous and quick; nothing on the way
   * may keep such responses.
   */
  matches(url: string): boolean;
  /** Undefined: it names nobody, and the caller gets what they would get without it. */
  reader(req: Request): Promise<FeedReader | undefined>;
}
export const feedIdentities = defineExtensionPoint<FeedIdentity>(
  'feeds.identities',
  'Ways in which a URL may say who reads a feed, beside sessions and bearer tokens.',
  { order: 'The first that names somebody decides.' },
);

/** Cache tag of all cached feeds. */
export const feedsTag = 'feeds';
