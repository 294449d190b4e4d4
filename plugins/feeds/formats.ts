import type { FeedOptions, Feed } from 'feed';
import { escapeHtml } from 'parley-forum/plugins/web';

/** A discussion in a feed. All URLs are absolute. */
export interface Entry {
  /** Does not change when the title does. */
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
  /** The scheme of the terms of each kind. */
  readonly taxonomies: Readonly<Record<Taxonomy, string>>;
}

/** RSS 2.0, with full texts in `content:encoded` and authors, who have no public e-mail address, in `dc:creator`. */
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
      // The URL without the title leads to the page too, so it is a permalink.
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

/** JSON Feed 1.1; the library supports only 1.0. */
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
  // Imported lazily, so that startup does not wait for it.
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

// Escaping that the library leaves to its callers. In text it takes "&amp;" for "&"; it ends a CDATA section at the
// second "]]>" in it; and it writes "<" in the label of a category unescaped into an attribute.
const text = (plain: string): string => plain.replaceAll('&', '&amp;');
const cdata = (html: string): string => html.replaceAll(']]>', ']]&gt;') || ' ';
const attributeText = (plain: string): string => plain.replaceAll('<', '‹');

/** Removes the characters that cannot be represented in XML 1.0. */
const wellFormed = (xml: string): string =>
  xml.toWellFormed().replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '');
