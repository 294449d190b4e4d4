import { defineExtensionPoint, type Request } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

export const FORMATS = ['rss', 'atom', 'json'] as const;
export type FeedFormat = (typeof FORMATS)[number];
/** The formats of feeds about a part of the forum. */
export const XML_FORMATS = ['rss', 'atom'] as const satisfies readonly FeedFormat[];

/** The topic of a feed. Categories are identified by slug, members and tags by id. */
export type FeedTopic = Readonly<
  { kind: 'all' } | { kind: 'category'; slug: string } | { kind: 'user' | 'tag'; id: string }
>;

/** The path of a feed. JSON is available only for the feed of everything. */
export function feedPath(format: FeedFormat, topic: FeedTopic = { kind: 'all' }): string {
  if (topic.kind === 'all') return `/feed/${format}`;
  if (topic.kind === 'category') return `/feed/${format}/category/${encodeURIComponent(topic.slug)}`;
  return `/${format}/${topic.kind}/${topic.id}`;
}

/** The reader a feed is made for. */
export interface FeedReader {
  readonly viewer: Viewer;
  /** Limits the feed to these categories; the feed of any other category is the one guests get. */
  readonly categoryIds?: readonly string[] | undefined;
}

/** A way in which a URL can identify the reader of a feed, in addition to sessions and bearer tokens. */
export interface FeedIdentity {
  /**
   * Whether this path and query may identify a reader. Called for every request, so it must be synchronous and fast; no
   * cache between server and reader may store responses to such URLs.
   */
  matches(url: string): boolean;
  /** Undefined if the URL identifies nobody; the caller then gets what they would get without it. */
  reader(req: Request): Promise<FeedReader | undefined>;
}
export const feedIdentities = defineExtensionPoint<FeedIdentity>(
  'feeds.identities',
  'Ways for a URL to identify the reader of a feed, in addition to sessions and bearer tokens.',
  { order: 'The first one that identifies a reader is used.' },
);

/** Cache tag of all cached feeds. */
export const feedsTag = 'feeds';
