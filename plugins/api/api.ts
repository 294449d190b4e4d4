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
 * Says a failure's message, or that of one field's problem, to whoever made this request, in their language; as it is
 * where it knows none.
 */
export type ErrorTranslator = (req: Parameters<Http['ip']>[0], message: string) => string;
export const errorTranslators = defineExtensionPoint<ErrorTranslator>(
  'api.error-translators',
  'Say what went wrong to people whose pages called the API, in their language; programs are told in English.',
);

/** A failure's message and problems as `say` says each sentence; a message that lists the problems lists those. */
export function translateFailure(
  { message, details }: Pick<HttpError, 'message' | 'details'>,
  say: (message: string) => string,
): Pick<HttpError, 'message' | 'details'> {
  const said = details.map((problem) => ({ ...problem, message: say(problem.message) }));
  const list = new InvalidInput(details).message;
  return { message: message === list ? new InvalidInput(said).message : say(message), details: said };
}

/** A rate of a route's own, outside the general one. */
export interface RouteBucket extends Bucket {
  /** Key of the setting that says how much it holds. */
  readonly limit: string;
}

/** What a route of the JSON API may say of itself. */
export interface ApiOptions {
  readonly csrf?: boolean;
  readonly bucket?: RouteBucket;
  readonly idle?: boolean;
  readonly raw?: boolean;
  readonly multipart?: Multipart;
  // The body is what the route's own schema says.
  readonly fingerprint?: (body: any) => unknown;
  readonly form?: boolean;
  readonly longText?: boolean;
  readonly document?: string;
  readonly accepted?: TSchema;
  // The result is what the route's own schema says.
  readonly location?: (result: any) => string;
}

/** What handlers of the JSON API know of a request. */
export interface ApiContext {
  readonly actor: Viewer;
  /**
   * For a handler to set whose response changes over time: where its route has `cacheTags`, it is cached until this
   * moment (epoch milliseconds) at most.
   */
  expiresAt?: number;
}

/** The JSON surface. Handlers return the answer's named keys; `success: true` is added. */
export const api = defineSurface<ApiContext, object, ApiOptions>('api', {
  prefix: '/api',
  options: {
    csrf: '`false`: needs no forgery token.',
    bucket: 'A rate of its own, outside the general one.',
    idle: '`true`: pages ask it by themselves, so it does not keep a session alive.',
    raw: '`true`: reads any JSON as the bytes that were sent.',
    multipart: 'Reads a body with a file.',
    fingerprint:
      'What of the body tells a repeated call from another under one `Idempotency-Key`, as JSON; without it, all of it.',
    form: '`true`: takes forms as well as JSON.',
    longText: '`true`: the body may have up to 1 MiB, where others have 64 KiB.',
    document: 'The type of an answer that is no JSON object, such as `text/css`.',
    accepted:
      'What it answers with 202 where it took on what was asked for, which is not done yet: the handler returns it as `Accepted`.',
    location: 'The address of what was created, by the result: the header `Location` of a 201.',
  },
});

/** Answers what is not let through to the API as the API refuses. */
export interface ApiRefusals {
  /** With the failure's envelope and every header of an answer; counts the call as a guest's. */
  refuse(req: Request, res: Response, failure: HttpError): Promise<void>;
}
export const ApiRefusals = defineToken<ApiRefusals>('ApiRefusals');

/**
 * The option `multipart` of a route here or among the pages: reads a body of multipart/form-data, in place of the
 * surface, into what the route's `body` describes. Called once, before any transaction begins.
 */
export type Multipart = (req: Request) => Promise<unknown>;

const BEARER = /^Bearer(?:\s+(.*))?$/i;

/** The token of an `Authorization: Bearer` header, empty where it has none; `undefined` for any other header. */
export function bearerToken({ headers: { authorization } }: Pick<Request, 'headers'>): string | undefined {
  const match = authorization === undefined ? undefined : BEARER.exec(authorization);
  return match ? (match[1] ?? '').trim() : undefined;
}

/** `Vary` of responses, for intermediate caches. */
const VARY = 'Accept-Encoding, Authorization, Cookie';
const EXPOSED_HEADERS =
  'ETag, Idempotency-Replayed, Last-Modified, Location, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id';
const ALLOWED_HEADERS =
  'Authorization, Cache-Control, Content-Type, Idempotency-Key, If-Match, If-Modified-Since, If-None-Match, Last-Event-ID';

/** Origins whose pages may read responses, from the setting `api.cors_origins`. */
const originsOf = (settings: Settings): readonly string[] =>
  (settings.get('api.cors_origins') as readonly string[] | undefined) ?? [];

/** `Vary` of a response that may be cached. */
export const varyHeader = (settings: Settings): string => (originsOf(settings).length > 0 ? `${VARY}, Origin` : VARY);

/**
 * Lets pages of the configured origins read responses (CORS); with bearer tokens only, never cookies. Other origins get
 * no header at all.
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
 * Whether this answers what a browser of a configured origin asks before a request: never with a refusal, as the page
 * could not read why; it reads that in the answer to the request itself.
 */
export const isPreflight = (res: { hasHeader(name: string): boolean }): boolean =>
  res.hasHeader('Access-Control-Allow-Methods');

/**
 * For `cacheTags` of a route to whose response other plugins contribute: the tags of all; undefined where one does not
 * declare when its part changes.
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
/** Text that a `uuid` column takes: anything else is treated as not found instead of causing a database error. */
export const isId = (text: string): boolean => UUID.test(text);

const POOL = Buffer.alloc(16_384);
let drawn = POOL.length;

/**
 * Random bytes as text, for nonces and tokens of most responses: generated in bulk, because each call costs more than
 * its bytes.
 */
export function randomText(bytes: number, encoding: 'base64' | 'base64url'): string {
  if (drawn + bytes > POOL.length) {
    crypto.getRandomValues(POOL);
    drawn = 0;
  }
  return POOL.toString(encoding, drawn, (drawn += bytes));
}

/**
 * Words of a title or name for its URL, at most 80 characters, or `fallback` where it has none; letters of every
 * script stay, Latin ones lose their accents.
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

/** Every list takes these. `limit` above 100 is 100. */
export const Paging = {
  limit: Type.Optional(Type.Integer({ minimum: 1, description: 'How many items, at most 100' })),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  cursor: Type.Optional(Type.String({ maxLength: 512, description: '`next_cursor` of the page before' })),
} as const;
export const MAX_PAGE = 100;

/** Where the setting `api.page_size` cannot be read. */
const DEFAULT_PAGE_SIZE = 20;

/** How many items a list gives: what was asked for, at most 100, else the forum's page size. */
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
/** What every list returns besides its items. */
export const pagingResult = { count: Type.Integer(), hasMore: Type.Boolean(), next_cursor: nullable(Type.String()) };
/** The paging fields of a response. */
export const pageFields = ({ items, hasMore, nextCursor }: Page<unknown>) => ({
  count: items.length,
  hasMore,
  next_cursor: nextCursor ?? null,
});

/** The response of a list: its items under `key`, and the paging fields. */
export const listOf = <K extends string, S extends TSchema>(key: K, items: S) =>
  Type.Object({ ...({ [key]: Type.Array(items) } as Record<K, ReturnType<typeof Type.Array<S>>>), ...pagingResult });

/**
 * A page of a list that is in memory as a whole; without `limit` all that is left of it. Its cursor is a
 * position.
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

/** Opaque text for the sort keys of a list's last item. */
export const encodeCursor = (keys: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify(keys)).toString('base64url');

/** The `length` sort keys of a cursor; 400 for anything of another shape. */
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

/** The moment for which a sort key of a cursor stands, in epoch milliseconds; 400 for anything else. */
export function decodeMoment(key: string | number | undefined): Date {
  if (typeof key !== 'number' || !isMoment(key)) throw badCursor();
  return new Date(key);
}

/** The position in a list that a cursor of one whole number contains; 400 for anything else. */
export function decodePosition(cursor: string): number {
  const [position] = decodeCursor(cursor, 1);
  if (!Number.isSafeInteger(position) || Number(position) < 0) throw badCursor();
  return Number(position);
}

/** 400 for a cursor that was not taken from this list. */
export const badCursor = (): InvalidInput =>
  new InvalidInput([{ field: 'cursor', message: 'is not one that this list gave' }]);

/** 401 for what needs a member. */
export const loginNeeded = (): HttpError => new HttpError(401, 'Log in, or send a bearer token');
