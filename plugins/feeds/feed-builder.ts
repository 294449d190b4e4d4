import type { Environment, Settings } from 'parley-forum';
import type { DiscussionRecord, Discussions } from 'parley-forum/plugins/discussions';
import { feedPath, type FeedFormat } from 'parley-forum/plugins/feeds';
import type { Markdown } from 'parley-forum/plugins/markdown';
import type { TagReference } from 'parley-forum/plugins/tags';
import { atom, json, rss, type Entry, type FeedContent } from './formats.ts';
import type { Topic } from './topics.ts';

/** A feed as it is sent. */
export interface FeedDocument {
  readonly path: string;
  readonly type: string;
  readonly body: Buffer;
}

interface FeedBuilderDeps {
  readonly discussions: Pick<Discussions, 'list'>;
  readonly environment: Environment;
  readonly markdown: Pick<Markdown, 'excerpt'>;
  readonly settings: Settings;
  /** How many discussions a feed has at most. */
  length(): number;
}

/** Characters of a summary. */
const SUMMARY_LENGTH = 280;
export const CONTENT_TYPES: Readonly<Record<FeedFormat, string>> = {
  rss: 'application/rss+xml',
  atom: 'application/atom+xml',
  json: 'application/feed+json',
};
const FORMATS = { rss, atom, json };

/** Feeds of discussions, the newest first: replies do not bring an old one back. */
export class FeedBuilder {
  readonly #deps: FeedBuilderDeps;

  constructor(deps: FeedBuilderDeps) {
    this.#deps = deps;
  }

  /** One list, whatever its length. */
  async build(format: FeedFormat, { about, reader, title, description, page, request }: Topic): Promise<FeedDocument> {
    const {
      discussions,
      environment: { baseUrl },
      settings,
      length,
    } = this.#deps;
    const { items } = await discussions.list(
      { ...request, categoryIds: reader.categoryIds, sort: 'newest', limit: length() },
      reader.viewer,
    );
    const path = feedPath(format, about);
    const content: FeedContent = {
      title,
      description,
      page: baseUrl + page,
      self: baseUrl + path,
      language: String(settings.get('site.locale')),
      entries: items.map((item) => this.#entry(item)),
      emptyFeedDate: new Date(String(settings.get('kernel.installed_at')) || 0),
      taxonomies: { category: `${baseUrl}/categories`, tag: `${baseUrl}/tags` },
    };
    return { path, type: `${CONTENT_TYPES[format]}; charset=utf-8`, body: Buffer.from(await FORMATS[format](content)) };
  }

  #entry(record: DiscussionRecord): Entry {
    const {
      environment: { baseUrl },
      markdown,
    } = this.#deps;
    const { author, category } = record;
    // There while the plugin of tags runs.
    const { tags = [] } = record as { readonly tags?: readonly TagReference[] };
    return {
      id: `${baseUrl}/d/${record.number}`,
      url: record.url,
      title: record.title,
      summary: markdown.excerpt(record.content, SUMMARY_LENGTH),
      html: absolute(record.html, baseUrl, record.url),
      author: {
        name: author.display_name ?? author.username,
        url: `${baseUrl}/u/${encodeURIComponent(author.username)}`,
      },
      terms: [
        { kind: 'category', name: category.name, slug: category.slug },
        ...tags.map(({ name, slug }) => ({ kind: 'tag' as const, name, slug })),
      ],
      createdAt: new Date(record.created_at),
      updatedAt: new Date(record.updated_at),
    };
  }
}

/**
 * The sanitiser leaves absolute URLs, paths of this site, and places in the text, which are footnotes; readers elsewhere
 * need absolute ones. `page` is the URL of the page on which the text stands.
 */
const absolute = (html: string, baseUrl: string, page: string): string =>
  html.replace(/<(?:a|img)\b[^>]*>/g, (tag) =>
    tag
      .replace(/ (href|src)="(?=\/)/, ` $1="${baseUrl}`)
      .replace(' href="#', ` href="${page}#`)
      .replace(/ srcset="[^"]*"/, (sizes) => sizes.replace(/(?<="|, )\//g, `${baseUrl}/`)),
  );
