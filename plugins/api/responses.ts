import type { IncomingMessage, ServerResponse } from 'node:http';
import { Accepted, etagOf, isFresh, type RouteInfo } from 'parley-forum';
import type { ApiOptions } from 'parley-forum/plugins/api';

export const JSON_TYPE = 'application/json; charset=utf-8';
/** The response depends on the user, so caches must revalidate it. */
export const PRIVATE = 'private, no-cache';

/** A successful result as bytes, `success` first. `Date`s become ISO 8601 in UTC with milliseconds. */
export const successBytes = (result: object | undefined): Buffer =>
  Buffer.from(JSON.stringify({ success: true, ...result }));

/** Status of responses to requests that created something. */
export const CREATED = 201;
/** Status of responses to requests that were accepted but are not finished. */
export const ACCEPTED = 202;
/** Separates a handler's return value into the response's status and result. */
export const outcomeOf = ({ status }: Pick<RouteInfo, 'status'>, result: object): { status: number; result: object } =>
  result instanceof Accepted ? { status: ACCEPTED, result: result.result } : { status, result };

/** Sets `Location` to the address of the created resource, if it has one of its own. */
export function setLocation(
  res: ServerResponse,
  { options: { location } }: Pick<RouteInfo<ApiOptions>, 'options'>,
  { status, result }: { readonly status: number; readonly result: object },
): void {
  if (status === CREATED && location) res.setHeader('Location', location(result));
}

interface Sent {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
  /** The ETag, if already known. */
  readonly etag?: string | undefined;
}

/**
 * Sends `body`; responses to reads get an ETag, or are a 304 if the client already has it. Node omits the body of
 * responses to HEAD.
 */
export function send(req: IncomingMessage, res: ServerResponse, { status, type, body, ...known }: Sent): void {
  const read = req.method === 'GET' || req.method === 'HEAD';
  if (read && status === 200) {
    const etag = known.etag ?? etagOf(body);
    res.setHeader('ETag', etag);
    res.setHeader('Cache-Control', PRIVATE);
    if (isFresh(req, etag)) return void res.writeHead(304).end();
  } else {
    res.setHeader('Cache-Control', 'no-store');
  }
  res.setHeader('Content-Type', type);
  res.setHeader('Content-Length', body.length);
  res.writeHead(status).end(body);
}
