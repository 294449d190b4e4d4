import type { Cache } from 'parley-forum';
import type { PostRecord, PostStub } from 'parley-forum/plugins/discussions';
import { html } from 'parley-forum/plugins/web';
import { loneLinks, replaceLoneLinks } from './lone-links.ts';
import { ALL_PREVIEWS, previewTag, type PreviewStore, type ShownPreview } from './preview-store.ts';

type Posts = readonly (PostRecord | PostStub)[];

interface CardsDeps {
  readonly cache: Cache;
  readonly store: PreviewStore;
  /** Whether links to this host are shown as cards. */
  allowed(url: URL): boolean;
}

/** Replaces links by cards, for all posts of a page with one statement, or none if the page was shown before. */
export async function withCards(posts: Posts, { cache, store, allowed }: CardsDeps): Promise<Posts> {
  const urls = [...new Set(posts.flatMap((post) => ('html' in post ? loneLinks(post.html) : [])))].filter((url) =>
    allowed(new URL(url)),
  );
  if (urls.length === 0) return posts;
  const previews = await cache.remember(
    `link-previews:${urls.join(' ')}`,
    [ALL_PREVIEWS, ...urls.map(previewTag)],
    () => store.shown(urls),
  );
  const cards = new Map(previews.map((preview) => [preview.url, cardOf(preview)]));
  if (cards.size === 0) return posts;
  return posts.map((post) =>
    'html' in post ? { ...post, html: replaceLoneLinks(post.html, (url) => cards.get(url)) } : post,
  );
}

/**
 * Everything in a card comes from the linked page, except the host, which is what readers can rely on. The title
 * determines the text direction of the card.
 */
const cardOf = ({ url, title, description, site, picture }: ShownPreview): string =>
  html`<div class="link-preview" dir="auto">${
    picture &&
    html`<img src="/link-previews/${picture.id}" alt="" width="${picture.width}" height="${picture.height}" loading="lazy" decoding="async">`
  }<div><p class="link-preview-site">${site !== null && html`<bdi>${site}</bdi> · `}<bdi>${new URL(url).host}</bdi></p><p class="link-preview-title"><a href="${url}" rel="nofollow ugc noopener">${title}</a></p>${
    description !== null && html`<p class="link-preview-text" dir="auto">${description}</p>`
  }</div></div>`.toString();
