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
  /** The maximum number of discussions in a feed. */
  length(): number;
}

/** The length of a summary, in characters. */
const SUMMARY_LENGTH = 280;
export const CONTENT_TYPES: Readonly<Record<FeedFormat, string>> = {
  rss: 'application/rss+xml',
  atom: 'application/atom+xml',
  json: 'application/feed+json',
};
const FORMATS = { rss, atom, json };

/** Builds feeds of discussions, newest first. Replies do not bring an old discussion back. */
export class FeedBuilder {
  readonly #deps: FeedBuilderDeps;

  constructor(deps: FeedBuilderDeps) {
    this.#deps = deps;
  }

  /** Reads a single list, whatever its length. */
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
    // Present while the tags plugin runs.
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
 * Makes the URLs in sanitized HTML absolute, as readers elsewhere need them: the sanitizer leaves absolute URLs, paths
 * of this site, and fragments, which are footnotes. `page` is the URL of the page the text is on.
 */
const absolute = (html: string, baseUrl: string, page: string): string =>
  html.replace(/<(?:a|img)\b[^>]*>/g, (tag) =>
    tag
      .replace(/ (href|src)="(?=\/)/, ` $1="${baseUrl}`)
      .replace(' href="#', ` href="${page}#`)
      .replace(/ srcset="[^"]*"/, (sizes) => sizes.replace(/(?<="|, )\//g, `${baseUrl}/`)),
  );
