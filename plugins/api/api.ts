import {
  defineExtensionPoint,
  defineSurface,
  defineToken,
  HttpError,
  InvalidInput,
  isMoment,
  isStorable,
  Type,
  type Http,
  type Request,
  type Response,
  type Settings,
  type TSchema,
} from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Bucket } from 'parley-forum/plugins/limits';

/**
 * Translates an error message, or the message of one field's problem, into the language of the person who made the
 * request. Returns messages it does not know unchanged.
 */
export type ErrorTranslator = (req: Parameters<Http['ip']>[0], message: string) => string;
export const errorTranslators = defineExtensionPoint<ErrorTranslator>(
  'api.error-translators',
  'Translate error messages for people whose pages called the API; programs get them in English.',
);

/**
 * Translates a failure's message and the messages of its problems with `say`. A message that merely lists the problems
 * is rebuilt from the translated ones.
 */
export function translateFailure(
  { message, details }: Pick<HttpError, 'message' | 'details'>,
  say: (message: string) => string,
): Pick<HttpError, 'message' | 'details'> {
  const said = details.map((problem) => ({ ...problem, message: say(problem.message) }));
  const list = new InvalidInput(details).message;
  return { message: message === list ? new InvalidInput(said).message : say(message), details: said };
}

/** A rate limit of a route's own, separate from the general one. */
export interface RouteBucket extends Bucket {
  /** Key of the setting that holds the limit. */
  readonly limit: string;
}

/** Options of a route of the JSON API. */
export interface ApiOptions {
  readonly csrf?: boolean;
  readonly bucket?: RouteBucket;
  readonly idle?: boolean;
  readonly raw?: boolean;
  readonly multipart?: Multipart;
  // The type of the body comes from the route's own schema.
  readonly fingerprint?: (body: any) => unknown;
  readonly form?: boolean;
  readonly longText?: boolean;
  readonly document?: string;
  readonly accepted?: TSchema;
  // The type of the result comes from the route's own schema.
  readonly location?: (result: any) => string;
}

/** The request context passed to handlers of the JSON API. */
export interface ApiContext {
  readonly actor: Viewer;
  /**
   * Set by handlers whose response changes over time: on a route with `cacheTags`, the response is cached until this
   * moment (epoch milliseconds) at most.
   */
  expiresAt?: number;
}

/** The JSON surface. Handlers return the keys of the response object; `success: true` is added. */
export const api = defineSurface<ApiContext, object, ApiOptions>('api', {
  prefix: '/api',
  options: {
    csrf: '`false`: requires no CSRF token.',
    bucket: 'A separate rate limit, instead of the general one.',
    idle: '`true`: pages call it automatically, so it does not keep a session alive.',
    raw: '`true`: accepts any JSON, as the raw bytes that were sent.',
    multipart: 'Accepts a body with a file.',
    fingerprint:
      'The part of the body that distinguishes calls with the same `Idempotency-Key`, as JSON; the whole body by default.',
    form: '`true`: accepts forms as well as JSON.',
    longText: '`true`: the body may have up to 1 MiB instead of 64 KiB.',
    document: 'The type of a response that is not a JSON object, such as `text/css`.',
    accepted:
      'The 202 response if the request was accepted but not completed yet: the handler returns it as `Accepted`.',
    location: 'The URL of the created resource, from the result: the `Location` header of a 201.',
  },
});

/** Refuses requests that never reach the API in the same way as the API itself does. */
export interface ApiRefusals {
  /** Sends the failure's envelope with all headers of an API response, and counts the call as a guest's. */
  refuse(req: Request, res: Response, failure: HttpError): Promise<void>;
}
export const ApiRefusals = defineToken<ApiRefusals>('ApiRefusals');

/**
 * The option `multipart` of a route of the API or of the pages: reads a body of multipart/form-data, in place of the
 * surface, into the shape described by the route's `body`. Called once, before any transaction begins.
 */
export type Multipart = (req: Request) => Promise<unknown>;

const BEARER = /^Bearer(?:\s+(.*))?$/i;

/**
 * The token of an `Authorization: Bearer` header, empty if the header contains none; `undefined` without such a header.
 */
export function bearerToken({ headers: { authorization } }: Pick<Request, 'headers'>): string | undefined {
  const match = authorization === undefined ? undefined : BEARER.exec(authorization);
  return match ? (match[1] ?? '').trim() : undefined;
}

/** `Vary` header of responses, for intermediate caches. */
const VARY = 'Accept-Encoding, Authorization, Cookie';
const EXPOSED_HEADERS =
  'ETag, Idempotency-Replayed, Last-Modified, Location, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id';
const ALLOWED_HEADERS =
  'Authorization, Cache-Control, Content-Type, Idempotency-Key, If-Match, If-Modified-Since, If-None-Match, Last-Event-ID';

/** Origins whose pages may read responses, from the setting `api.cors_origins`. */
const originsOf = (settings: Settings): readonly string[] =>
  (settings.get('api.cors_origins') as readonly string[] | undefined) ?? [];

/** `Vary` header of a response that may be cached. */
export const varyHeader = (settings: Settings): string => (originsOf(settings).length > 0 ? `${VARY}, Origin` : VARY);

/**
 * Lets pages of the configured origins read responses (CORS), with bearer tokens only, never cookies. Other origins get
 * no CORS headers at all.
 */
export function allowOrigin(
  req: Pick<Request, 'headers'> & { readonly method?: string | undefined },
  res: { setHeader(name: string, value: string): unknown },
  settings: Settings,
): void {
  const { origin } = req.headers;
  if (origin === undefined || !originsOf(settings).includes(origin)) return;
  res.setHeader('Access-Control-Allow-Origin', origin);
  res.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS);
  if (req.method !== 'OPTIONS' || req.headers['access-control-request-method'] === undefined) return;
  res.setHeader('Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, PATCH, DELETE');
  res.setHeader('Access-Control-Allow-Headers', ALLOWED_HEADERS);
  res.setHeader('Access-Control-Max-Age', '600');
}

/**
 * Whether this is the response to a CORS preflight from a configured origin. A preflight is never refused, because the
 * page could not read the reason; it can read that in the response to the actual request.
 */
export const isPreflight = (res: { hasHeader(name: string): boolean }): boolean =>
  res.hasHeader('Access-Control-Allow-Methods');

/**
 * For `cacheTags` of a route to whose response other plugins contribute: the combined tags, or undefined if a
 * contribution does not declare when it changes.
 */
export const combineTags = (
  own: readonly string[],
  parts: readonly { readonly value: { readonly tags?: readonly string[] } }[],
): readonly string[] | undefined =>
  parts.every(({ value }) => value.tags) ? [...own, ...parts.flatMap(({ value }) => value.tags ?? [])] : undefined;

/** Cache tag of all cached responses, for changes that may affect any of them. */
export const responsesTag = 'api.answers';

/** An opaque identifier. */
export const Id = Type.String({ minLength: 1, maxLength: 64 });
export const IdParams = Type.Object({ id: Id });

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/**
 * Whether a `uuid` column accepts the text: anything else is treated as not found instead of causing a database error.
 */
export const isId = (text: string): boolean => UUID.test(text);

const POOL = Buffer.alloc(16_384);
let drawn = POOL.length;

/**
 * Random bytes as text, for the nonces and tokens that most responses need. Generated in bulk, because the cost per
 * call outweighs the cost per byte.
 */
export function randomText(bytes: number, encoding: 'base64' | 'base64url'): string {
  if (drawn + bytes > POOL.length) {
    crypto.getRandomValues(POOL);
    drawn = 0;
  }
  return POOL.toString(encoding, drawn, (drawn += bytes));
}

/**
 * The words of a title or name for use in its URL, at most 80 characters, or `fallback` if there are none. Letters of
 * every script are kept; Latin ones lose their accents.
 */
export function slugOf(title: string, fallback: string): string {
  const plain = title
    .normalize('NFKD')
    .replace(/(\p{Script=Latin})\p{M}+/gu, '$1')
    .normalize('NFC')
    .toLowerCase();
  const words = plain.replace(/[^\p{L}\p{N}\p{M}]+/gu, '-').replace(/^-|-$/g, '');
  const slug = [...words].slice(0, 80).join('').replace(/-$/, '');
  return slug || fallback;
}

/** ISO 8601 in UTC with milliseconds. */
export const Time = Type.String({ format: 'date-time' });
export const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

/** Query parameters of every list. A `limit` above 100 is treated as 100. */
export const Paging = {
  limit: Type.Optional(Type.Integer({ minimum: 1, description: 'How many items, at most 100' })),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  cursor: Type.Optional(Type.String({ maxLength: 512, description: '`next_cursor` of the previous page' })),
} as const;
export const MAX_PAGE = 100;

/** Used if the setting `api.page_size` cannot be read. */
const DEFAULT_PAGE_SIZE = 20;

/** How many items a list returns: the requested number, at most 100, or else the forum's page size. */
export function limitOf(settings: Settings, limit: number | undefined): number {
  const usual = settings.get('api.page_size');
  return Math.min(limit ?? (typeof usual === 'number' ? usual : DEFAULT_PAGE_SIZE), MAX_PAGE);
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly hasMore: boolean;
  /** Undefined on the last page. */
  readonly nextCursor: string | undefined;
}
/** The fields that every list returns besides its items. */
export const pagingResult = { count: Type.Integer(), hasMore: Type.Boolean(), next_cursor: nullable(Type.String()) };
/** The paging fields of a response. */
export const pageFields = ({ items, hasMore, nextCursor }: Page<unknown>) => ({
  count: items.length,
  hasMore,
  next_cursor: nextCursor ?? null,
});

/** Schema of a list response: its items under `key`, and the paging fields. */
export const listOf = <K extends string, S extends TSchema>(key: K, items: S) =>
  Type.Object({ ...({ [key]: Type.Array(items) } as Record<K, ReturnType<typeof Type.Array<S>>>), ...pagingResult });

/**
 * A page of a list that is held in memory as a whole; without `limit`, everything from the start position on. The
 * cursor is a position.
 */
export function pageOf<T>(
  items: readonly T[],
  query: {
    readonly limit?: number | undefined;
    readonly offset?: number | undefined;
    readonly cursor?: string | undefined;
  },
): Page<T> {
  const start = (query.cursor === undefined ? 0 : decodePosition(query.cursor)) + (query.offset ?? 0);
  const end =
    query.limit === undefined ? items.length : Math.min(start + Math.min(query.limit, MAX_PAGE), items.length);
  const hasMore = end < items.length && end > start;
  return { items: items.slice(start, end), hasMore, nextCursor: hasMore ? encodeCursor([end]) : undefined };
}

/**
 * A page of a list whose statement selects one row more than `limit`, to find out whether there are more. `keysOf`
 * returns the sort keys of a row for the cursor.
 */
export function pageOfRows<T extends object>(
  rows: readonly T[],
  limit: number,
  keysOf: (last: T) => readonly (string | number)[],
): Page<T> {
  const items = rows.slice(0, limit);
  const last = rows.length > limit ? items.at(-1) : undefined;
  return { items, hasMore: last !== undefined, nextCursor: last && encodeCursor(keysOf(last)) };
}

/** Encodes the sort keys of a list's last item as opaque text. */
export const encodeCursor = (keys: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify(keys)).toString('base64url');

/** Decodes the `length` sort keys of a cursor; throws 400 for anything of another shape. */
export function decodeCursor(cursor: string, length: number): readonly (string | number)[] {
  try {
    const keys: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (
      Array.isArray(keys) &&
      keys.length === length &&
      keys.every((key) => typeof key === 'number' || (typeof key === 'string' && isStorable(key)))
    )
      return keys;
  } catch {
    // Falls through to the same error as a cursor of the wrong shape.
  }
  throw badCursor();
}

/** The timestamp that a sort key of a cursor stands for, in epoch milliseconds; throws 400 for anything else. */
export function decodeMoment(key: string | number | undefined): Date {
  if (typeof key !== 'number' || !isMoment(key)) throw badCursor();
  return new Date(key);
}

/** The position in a list from a cursor that contains one whole number; throws 400 for anything else. */
export function decodePosition(cursor: string): number {
  const [position] = decodeCursor(cursor, 1);
  if (!Number.isSafeInteger(position) || Number(position) < 0) throw badCursor();
  return Number(position);
}

/** The id from a cursor that contains nothing else; throws 400 for anything else. */
export function decodeId(cursor: string): string {
  const id = String(decodeCursor(cursor, 1)[0]);
  if (!isId(id)) throw badCursor();
  return id;
}

/** 400 for a cursor that did not come from this list. */
export const badCursor = (): InvalidInput =>
  new InvalidInput([{ field: 'cursor', message: 'was not returned by this list' }]);

/** 401 for requests that only members may make. */
export const loginNeeded = (): HttpError => new HttpError(401, 'Log in, or send a bearer token');
