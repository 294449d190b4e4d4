import type { IncomingMessage } from 'node:http';
import etag from 'etag';
import fresh from 'fresh';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';

/** The parts of a request that are inspected. */
type Conditional = Pick<IncomingMessage, 'headers'>;

/** Weak, because the same response may be sent compressed. */
export const etagOf = (body: Buffer): string => etag(body, { weak: true });

/**
 * Whether the client already has the response with this `ETag` or, if it sends none, a response last modified at
 * `changedAt` (epoch seconds). `Cache-Control: no-cache` is ignored: it asks caches to revalidate, which is no reason
 * to send the response again.
 */
export function isFresh({ headers }: Conditional, tag: string, changedAt?: number): boolean {
  const { 'if-none-match': known, 'if-modified-since': since } = headers;
  if (known !== undefined) return known === tag || fresh({ 'if-none-match': known }, { etag: tag });
  if (since === undefined || changedAt === undefined) return false;
  return fresh({ 'if-modified-since': since }, { 'last-modified': new Date(changedAt * 1_000).toUTCString() });
}

/** Characters; browsers send no longer headers. */
const MAX_REMEMBERED_LENGTH = 200;
/** Browsers send few distinct headers, and parsing one takes longer than sending a cached page. */
const accepted = new LRUCache<string, readonly string[]>({ max: 100 });

/** Whether the client accepts this content coding. */
export function acceptsEncoding(req: Conditional, coding: 'br' | 'gzip'): boolean {
  const header = String(req.headers['accept-encoding'] ?? '');
  let codings = accepted.get(header);
  if (!codings) {
    codings = new Negotiator(req).encodings(['br', 'gzip']);
    if (header.length <= MAX_REMEMBERED_LENGTH) accepted.set(header, codings);
  }
  return codings.includes(coding);
}
