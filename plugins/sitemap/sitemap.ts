import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { notFound, type Cache } from 'parley-forum';
import { accessTag } from 'parley-forum/plugins/access';
import { listCacheTags } from 'parley-forum/plugins/discussions';
import { tagsTag } from 'parley-forum/ports/tags';
import { escapeHtml } from 'parley-forum/plugins/web';
import type { PublicUrl, PublicUrls } from './public-urls.ts';

interface SitemapDeps {
  readonly publicUrls: PublicUrls;
  readonly cache: Cache;
  readonly baseUrl: string;
  /** The maximum number of URLs per file. */
  maxUrls(): number;
}

/** The root document: all URLs, or the index of the parts. */
export const ROOT_DOCUMENT = 'sitemap';
const PART = /^(lists|discussions)-([1-9]\d{0,5})$/;
const OWN_TAG = 'sitemap';
/** Cache tags of everything that the sitemap contains. */
export const CACHE_TAGS: readonly string[] = [OWN_TAG, ...listCacheTags, accessTag, tagsTag];
const NAMESPACE = 'http://www.sitemaps.org/schemas/sitemap/0.9';

/**
 * Documents by name, compressed and cached until something in them may have changed: compressed, fifty thousand URLs
 * are half a megabyte.
 */
export class Sitemap {
  readonly #deps: SitemapDeps;

  constructor(deps: SitemapDeps) {
    this.#deps = deps;
  }

  /** Resolves to the gzipped document. Throws 404 if there is no such part. */
  document(name: string): Promise<Buffer> {
    return this.#deps.cache.remember(`sitemap ${name}`, CACHE_TAGS, async () => compress(await this.#write(name)));
  }

  /** The names of the parts listed in the index; empty if a single file holds everything. */
  async parts(): Promise<readonly string[]> {
    const { publicUrls } = this.#deps;
    const maxUrls = this.#deps.maxUrls();
    const { length } = await publicUrls.lists();
    // A single file is enough if all discussions fit in beside the lists.
    if (length < maxUrls && (await publicUrls.ranges(maxUrls - length)).every((range) => range === 0)) return [];
    const ranges = await publicUrls.ranges(maxUrls);
    const lists = Array.from({ length: Math.ceil(length / maxUrls) }, (_, at) => `lists-${at + 1}`);
    return [...lists, ...ranges.map((range) => `discussions-${range + 1}`)];
  }

  purge(): Promise<void> {
    return this.#deps.cache.purge(OWN_TAG);
  }

  async #write(name: string): Promise<AsyncIterable<string> | Iterable<string>> {
    const { publicUrls, baseUrl } = this.#deps;
    const maxUrls = this.#deps.maxUrls();
    if (name === ROOT_DOCUMENT) {
      const parts = await this.parts();
      if (parts.length > 0) return sitemapIndex(parts.map((part) => `${baseUrl}/sitemaps/${part}.xml`));
      const lists = await publicUrls.lists();
      return urlSet(baseUrl, [lists], publicUrls.discussions(0, maxUrls - lists.length));
    }
    const [, kind, number] = PART.exec(name) ?? [];
    const at = Number(number) - 1;
    const list = kind === 'lists' ? (await publicUrls.lists()).slice(at * maxUrls, (at + 1) * maxUrls) : [];
    if (list.length > 0) return urlSet(baseUrl, [list]);
    if (kind === 'discussions' && (await publicUrls.ranges(maxUrls)).includes(at))
      return urlSet(baseUrl, publicUrls.discussions(at, maxUrls));
    throw notFound('There is no such part of the sitemap');
  }
}

type UrlBatches = AsyncIterable<readonly PublicUrl[]> | Iterable<readonly PublicUrl[]>;

async function* urlSet(baseUrl: string, ...sources: readonly UrlBatches[]): AsyncGenerator<string> {
  yield `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="${NAMESPACE}">\n`;
  for (const source of sources) {
    for await (const batch of source) {
      yield batch.map((url) => `<url>${urlEntry(baseUrl, url)}</url>\n`).join('');
    }
  }
  yield '</urlset>\n';
}

const urlEntry = (baseUrl: string, { path, updatedAt }: PublicUrl): string =>
  `<loc>${escapeHtml(baseUrl + path)}</loc>${updatedAt ? `<lastmod>${updatedAt.toISOString()}</lastmod>` : ''}`;

function* sitemapIndex(locations: readonly string[]): Generator<string> {
  yield `<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="${NAMESPACE}">\n`;
  for (const location of locations) yield `<sitemap><loc>${escapeHtml(location)}</loc></sitemap>\n`;
  yield '</sitemapindex>\n';
}

async function compress(text: AsyncIterable<string> | Iterable<string>): Promise<Buffer> {
  const gzipped = createGzip();
  const [bytes] = await Promise.all([buffer(gzipped), pipeline(Readable.from(text), gzipped)]);
  return bytes;
}
