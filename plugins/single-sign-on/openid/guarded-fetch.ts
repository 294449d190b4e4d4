import type { CustomFetch } from 'openid-client';
import type { UrlGuard } from 'parley-forum/plugins/protection';

/** Maximum bytes of a response; those of the largest providers have a tenth of it. */
const MAX_BYTES = 256 * 1_024;
/** Statuses that have no body. */
const EMPTY = new Set([204, 205, 304]);

/** The provider cannot be reached: its host was not found or is blocked, or its response was too slow or too large. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

/** The `fetch` of the OpenID Connect library: sends requests through the URL guard and limits the size of responses. */
export const guardedFetch =
  (guard: UrlGuard, stop: AbortSignal): CustomFetch =>
  async (url, { method, headers, body, signal }) => {
    try {
      const text = body === undefined || body === null ? undefined : String(body);
      const response = await guard.request(new URL(url), {
        method: method === 'POST' ? 'POST' : 'GET',
        headers: { ...headers, ...(text !== undefined && { 'content-length': String(Buffer.byteLength(text)) }) },
        ...(text !== undefined && { body: text }),
        signal: signal ? AbortSignal.any([signal, stop]) : stop,
      });
      const chunks: Uint8Array[] = [];
      let length = 0;
      for await (const chunk of response) {
        length += chunk.length;
        if (length > MAX_BYTES) {
          response.destroy();
          throw new Error(`responds with more than ${MAX_BYTES} bytes`);
        }
        chunks.push(chunk);
      }
      const status = response.statusCode ?? 0;
      const type = response.headers['content-type'];
      return new Response(EMPTY.has(status) ? null : Buffer.concat(chunks), {
        status,
        headers: type === undefined ? {} : { 'content-type': type },
      });
    } catch (error) {
      throw new Unreachable('the provider cannot be reached', { cause: error });
    }
  };
