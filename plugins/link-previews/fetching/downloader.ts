import type { GuardedResponse, UrlGuard } from 'parley-forum/plugins/protection';

/** Milliseconds from the first lookup to the last byte, redirects included. */
const TIMEOUT = 5_000;
const MAX_REDIRECTS = 3;
const REDIRECTS = [301, 302, 303, 307, 308];
/** Maximum bytes read of a page: its head is within them. */
const MAX_PAGE_BYTES = 512 * 1024;
/** Maximum bytes of a picture, which has to be complete. */
const MAX_PICTURE_BYTES = 4 * 1024 * 1024;

interface DownloaderDeps {
  readonly guard: UrlGuard;
  /** The `User-Agent` header of requests. */
  readonly userAgent: string;
  /** Whether requests to this host are allowed. */
  allowed(url: URL): boolean;
}
/** A page as far as it was read, and its URL after redirects. */
export interface Page {
  readonly url: URL;
  readonly text: string;
}

/**
 * Downloads pages and pictures from other servers, with limits on time and size; each redirect is checked like the
 * first URL.
 */
export class Downloader {
  readonly #deps: DownloaderDeps;

  constructor(deps: DownloaderDeps) {
    this.#deps = deps;
  }

  /** Throws if the response is not HTML. */
  async page(url: URL, stop: AbortSignal): Promise<Page> {
    const { response, url: last } = await this.#get(url, 'text/html', stop);
    const type = response.headers['content-type'] ?? '';
    if (!/^text\/html\b/i.test(type)) throw refused(response, `returned ${type || 'no content type'} instead of HTML`);
    const { bytes } = await read(response, MAX_PAGE_BYTES);
    return { url: last, text: decoded(bytes, type) };
  }

  /** Accepts any response with the content type of an image. */
  async picture(url: URL, stop: AbortSignal): Promise<Uint8Array> {
    const { response } = await this.#get(url, 'image/webp,image/png,image/jpeg,image/gif', stop);
    if (!/^image\//i.test(response.headers['content-type'] ?? '')) throw refused(response, 'did not return a picture');
    const { bytes, whole } = await read(response, MAX_PICTURE_BYTES);
    if (!whole) throw new Error('The picture is too large');
    return bytes;
  }

  async #get(
    first: URL,
    accept: string,
    stop: AbortSignal,
  ): Promise<{ readonly response: GuardedResponse; readonly url: URL }> {
    const { guard, userAgent, allowed } = this.#deps;
    const signal = AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT)]);
    // Compressed responses may be much larger than they look.
    const headers = { Accept: accept, 'Accept-Encoding': 'identity', 'User-Agent': userAgent };
    for (let url = first, redirects = 0; ; redirects++) {
      if (!allowed(url)) throw new Error('The host is excluded');
      const response = await guard.request(url, { method: 'GET', headers, signal });
      const { statusCode = 0, headers: answered } = response;
      if (REDIRECTS.includes(statusCode) && answered.location !== undefined) {
        response.destroy();
        if (redirects === MAX_REDIRECTS) throw new Error('Too many redirects');
        url = new URL(answered.location, url);
        continue;
      }
      if (statusCode !== 200) throw refused(response, `responded with ${statusCode}`);
      if ((answered['content-encoding'] ?? 'identity') !== 'identity')
        throw refused(response, 'returned a compressed response');
      return { response, url };
    }
  }
}

/** Closes the connection without reading the rest of the response. */
function refused(response: GuardedResponse, why: string): Error {
  response.destroy();
  return new Error(`The address ${why}`);
}

/** Reads the first bytes of a response, then closes its connection. */
async function read(
  response: GuardedResponse,
  most: number,
): Promise<{ readonly bytes: Buffer; readonly whole: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > most) break;
  }
  return { bytes: Buffer.concat(chunks).subarray(0, most), whole: length <= most };
}

/** Decodes the page with the character set of the header, or else of the page itself. */
function decoded(bytes: Buffer, type: string): string {
  const inHead = (): string => bytes.subarray(0, 1_024).toString('latin1');
  const [, charset = 'utf-8'] =
    /charset=["']?([\w-]+)/i.exec(type) ?? /<meta[^>]+charset=["']?([\w-]+)/i.exec(inHead()) ?? [];
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}
