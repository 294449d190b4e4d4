import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { notFound, type Cache } from 'parley-forum';
import { accessTag } from 'parley-forum/plugins/access';
import { tags as discussionTags } from 'parley-forum/plugins/discussions';
import { tagsTag } from 'parley-forum/plugins/tags';
import { escapeHtml } from 'parley-forum/plugins/web';
import type { PublicUrl, PublicUrls } from './public-urls.ts';

interface SitemapDeps {
  readonly addresses: PublicUrls;
  readonly cache: Cache;
  readonly baseUrl: string;
  /** Addresses in one file at most. */
  most(): number;
}

/** The whole: every address, or the index of the parts. */
export const WHOLE = 'sitemap';
const PART = /^(lists|discussions)-([1-9]\d{0,5})$/;
const OWN_TAG = 'sitemap';
/** Cache tags of whatever shows in it. */
export const SHOWN: readonly string[] = [
  OWN_TAG,
  discussionTags.lists,
  discussionTags.all,
  discussionTags.categories,
  accessTag,
  tagsTag,
];
const NAMESPACE = 'http://www.sitemaps.org/schemas/sitemap/0.9';

/**
 * Documents by name, compressed and kept until something in them may have changed: fifty thousand addresses are half a
 * megabyte then.
 */
export class Sitemap {
  readonly #parts: SitemapDeps;

  constructor(parts: SitemapDeps) {
    this.#parts = parts;
  }

  /** As gzip. 404 for a part that there is not. */
  document(name: string): Promise<Buffer> {
    return this.#parts.cache.remember(`sitemap ${name}`, SHOWN, async () => zip(await this.#write(name)));
  }

  /** Names of the parts that the index names; none where one file holds everything. */
  async parts(): Promise<readonly string[]> {
    const { addresses } = this.#parts;
    const most = this.#parts.most();
    const { length } = await addresses.lists();
    // Whether all discussions there are have room beside the rest.
    if (length < most && (await addresses.ranges(most - length)).every((stretch) => stretch === 0)) return [];
    const stretches = await addresses.ranges(most);
    const lists = Array.from({ length: Math.ceil(length / most) }, (_, at) => `lists-${at + 1}`);
    return [...lists, ...stretches.map((stretch) => `discussions-${stretch + 1}`)];
  }

  forget(): Promise<void> {
    return this.#parts.cache.purge(OWN_TAG);
  }

  async #write(name: string): Promise<AsyncIterable<string> | Iterable<string>> {
    const { addresses, baseUrl } = this.#parts;
    const most = this.#parts.most();
    if (name === WHOLE) {
      const parts = await this.parts();
      if (parts.length > 0) return indexOf(parts.map((part) => `${baseUrl}/sitemaps/${part}.xml`));
      const lists = await addresses.lists();
      return addressesOf(baseUrl, [lists], addresses.discussions(0, most - lists.length));
    }
    const [, kind, number] = PART.exec(name) ?? [];
    const at = Number(number) - 1;
    const list = kind === 'lists' ? (await addresses.lists()).slice(at * most, (at + 1) * most) : [];
    if (list.length > 0) return addressesOf(baseUrl, [list]);
    if (kind === 'discussions' && (await addresses.ranges(most)).includes(at))
      return addressesOf(baseUrl, addresses.discussions(at, most));
    throw notFound('There is no such part of the sitemap');
  }
}

type Pieces = AsyncIterable<readonly PublicUrl[]> | Iterable<readonly PublicUrl[]>;

async function* addressesOf(baseUrl: string, ...sources: readonly Pieces[]): AsyncGenerator<string> {
  yield `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="${NAMESPACE}">\n`;
  for (const source of sources) {
    for await (const piece of source) {
      yield piece.map((address) => `<url>${located(baseUrl, address)}</url>\n`).join('');
    }
  }
  yield '</urlset>\n';
}

const located = (baseUrl: string, { path, updatedAt }: PublicUrl): string =>
  `<loc>${escapeHtml(baseUrl + path)}</loc>${updatedAt ? `<lastmod>${updatedAt.toISOString()}</lastmod>` : ''}`;

function* indexOf(locations: readonly string[]): Generator<string> {
  yield `<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="${NAMESPACE}">\n`;
  for (const location of locations) yield `<sitemap><loc>${escapeHtml(location)}</loc></sitemap>\n`;
  yield '</sitemapindex>\n';
}

async function zip(text: AsyncIterable<string> | Iterable<string>): Promise<Buffer> {
  const zipped = createGzip();
  const [bytes] = await Promise.all([buffer(zipped), pipeline(Readable.from(text), zipped)]);
  return bytes;
}
