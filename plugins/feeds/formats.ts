import type { FeedOptions, Feed } from 'feed';
import { escapeHtml } from 'parley-forum/plugins/web';

/** A discussion in a feed. All URLs are absolute. */
export interface Entry {
  /** Stays when the title changes. */
  readonly id: string;
  readonly url: string;
  readonly title: string;
  readonly summary: string;
  readonly html: string;
  readonly author: { readonly name: string; readonly url: string };
  readonly terms: readonly { readonly kind: Taxonomy; readonly name: string; readonly slug: string }[];
  readonly createdAt: Date;
  readonly updatedAt: Date;
}
type Taxonomy = 'category' | 'tag';

export interface FeedContent {
  readonly title: string;
  readonly description: string;
  readonly page: string;
  readonly self: string;
  readonly language: string;
  readonly entries: readonly Entry[];
  /** The date of a feed without entries. */
  readonly emptyFeedDate: Date;
  /** What the terms of each kind are taken from. */
  readonly taxonomies: Readonly<Record<Taxonomy, string>>;
}

/** RSS 2.0, with the full texts in `content:encoded` and authors, who have no public e-mail, in `dc:creator`. */
export async function rss(content: FeedContent): Promise<string> {
  const feed = await createFeed(
    content,
    latest(content, ({ createdAt }) => createdAt),
  );
  for (const { id, url, title, summary, html, author, terms, createdAt } of content.entries) {
    feed.addItem({
      title,
      link: url,
      date: createdAt,
      description: cdata(escapeHtml(summary)),
      content: cdata(html),
      category: terms.map(({ kind, name }) => ({ name: text(name), domain: content.taxonomies[kind] })),
      // The URL without the title leads to the page too, so it is a permanent one.
      extensions: [
        { name: 'title', objects: { _text: text(title) } },
        { name: 'guid', objects: { _text: text(id), _attributes: { isPermaLink: 'true' } } },
        { name: 'dc:creator', objects: { _text: text(author.name) } },
      ],
    });
  }
  return wellFormed(feed.rss2());
}

/** Atom 1.0 (RFC 4287). */
export async function atom(content: FeedContent): Promise<string> {
  const feed = await createFeed(
    content,
    latest(content, ({ updatedAt }) => updatedAt),
  );
  for (const { id, url, title, summary, html, author, terms, createdAt, updatedAt } of content.entries) {
    feed.addItem({
      id,
      link: url,
      title: cdata(escapeHtml(title)),
      description: cdata(escapeHtml(summary)),
      content: cdata(html),
      date: updatedAt,
      published: createdAt,
      author: [{ name: text(author.name), link: author.url }],
      category: terms.map(({ kind, name, slug }) => ({
        name: attributeText(name),
        term: slug,
        scheme: content.taxonomies[kind],
      })),
    });
  }
  return wellFormed(feed.atom1());
}

/** JSON Feed 1.1; the library knows 1.0 only. */
export function json({ title, description, page, self, language, entries }: FeedContent): string {
  const items = entries.map(({ id, url, title: name, summary, html, author, terms, createdAt, updatedAt }) => ({
    id,
    url,
    title: name,
    content_html: html,
    summary,
    date_published: createdAt,
    date_modified: updatedAt,
    authors: [author],
    tags: terms.map((term) => term.name),
  }));
  return JSON.stringify({
    version: 'https://jsonfeed.org/version/1.1',
    title,
    home_page_url: page,
    feed_url: self,
    description,
    language,
    items,
  });
}

async function createFeed({ title, description, page, self, language }: FeedContent, updated: Date): Promise<Feed> {
  // Imported when used: a start does not wait for it.
  const library = await import('feed');
  const options: FeedOptions = {
    id: self,
    title: text(title),
    description: text(description),
    link: page,
    feed: self,
    language,
    updated,
    generator: 'Parley',
  };
  return new library.Feed(options);
}

const latest = ({ entries, emptyFeedDate }: FeedContent, of: (entry: Entry) => Date): Date =>
  entries.length === 0 ? emptyFeedDate : new Date(Math.max(...entries.map((entry) => of(entry).getTime())));

// What the library leaves to its callers. In text it takes "&amp;" for "&"; it ends a CDATA section at the second "]]>"
// in it; and "<" in the label of a category would be one in an attribute.
const text = (plain: string): string => plain.replaceAll('&', '&amp;');
const cdata = (html: string): string => html.replaceAll(']]>', ']]&gt;') || ' ';
const attributeText = (plain: string): string => plain.replaceAll('<', '‹');

/** Without the characters that XML 1.0 has no way to write. */
const wellFormed = (xml: string): string =>
  xml.toWellFormed().replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '');
