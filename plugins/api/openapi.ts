import { MAX_PAGE } from '#plugins/api';
import type { RouteInfo, TSchema } from '#core';

/** The parts of an OpenAPI 3.1 document that the human page reads. */
export interface OpenApi {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: object;
}
export interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly tags: readonly string[];
  readonly security: readonly object[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
  readonly responses: Readonly<Record<string, object>>;
}
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}
export type JsonSchema = Readonly<Record<string, unknown>>;

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

const DESCRIPTION = `Answers are JSON with \`success\`. Members call with a bearer token, made under Settings → Security; reads that guests may see need none.
Lists take \`limit\` (at most ${MAX_PAGE}), and \`offset\` or \`cursor\`. Every answer says in \`X-RateLimit-*\` how many calls are left.`;

const rateHeaders = {
  'X-RateLimit-Limit': { description: 'Calls a minute', schema: { type: 'integer' } },
  'X-RateLimit-Remaining': { description: 'Calls left', schema: { type: 'integer' } },
  'X-RateLimit-Reset': { description: 'Epoch seconds when all are left again', schema: { type: 'integer' } },
};

const FAILURES: Readonly<Record<number, readonly [name: string, description: string]>> = {
  400: ['Invalid', 'Invalid or missing input; `details` names the fields'], 401: ['Unauthenticated', 'No login, or a bad token'],
  403: ['Forbidden', 'Not allowed, or no valid forgery token (`csrf_failed`)'], 404: ['NotFound', 'Not there, or not visible to the caller'],
  413: ['TooLarge', 'The body is larger than 1 MiB'], 415: ['UnsupportedMediaType', 'The body is not of a supported type'],
  429: ['RateLimited', 'Too many calls; `Retry-After` says how many seconds to wait'], 500: ['InternalError', 'A fault of the server'],
  503: ['Unavailable', 'Try again later'],
};

const components = {
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer' },
    session: { type: 'apiKey', in: 'cookie', name: 'parley.sid', description: 'The cookie of a login; `__Host-parley.sid` under https' },
    csrf: {
      type: 'apiKey', in: 'header', name: 'X-CSRF-Token', description: 'Beside the cookie, for everything that writes; from the `csrf-token` meta tag of any page',
    },
  },
  schemas: {
    Failure: {
      type: 'object', required: ['success', 'error', 'code', 'request_id'],
      properties: {
        success: { const: false }, error: { type: 'string' }, code: { type: 'string' }, request_id: { type: 'string' },
        details: {
          type: 'array', items: { type: 'object', required: ['field', 'message'], properties: { field: { type: 'string' }, message: { type: 'string' } } },
        },
      },
    },
  },
  headers: rateHeaders,
  responses: Object.fromEntries(Object.values(FAILURES).map(([name, description]) => [
    name, { description, headers: headerRefs(), content: { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } } },
  ])),
};

function headerRefs(): object {
  return Object.fromEntries(Object.keys(rateHeaders).map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Describes `routes` from the schemas that check them. Sorted by path, so that the same routes give the same document. */
export function describe(routes: readonly RouteInfo[], info: { readonly title: string; readonly version: string; readonly url: string }): OpenApi {
  const sorted = routes.toSorted((a, b) => compare(pathOf(a), pathOf(b)) || compare(a.method, b.method));
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of sorted) (paths[pathOf(route)] ??= {})[route.method] = operation(route);
  return {
    openapi: '3.1.0',
    info: { title: info.title, version: info.version, description: DESCRIPTION },
    servers: [{ url: info.url }],
    tags: [...new Set(sorted.map(({ plugin }) => plugin))].sort(compare).map((name) => ({ name })),
    paths,
    components,
  };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const pathOf = ({ surface, path }: RouteInfo): string => surface.prefix + path.replace(/[:*](\w+)/g, '{$1}');

function operation(route: RouteInfo): Operation {
  const { method, path, summary, plugin, body, options } = route;
  const content = body && jsonOf(body);
  const required = ((body as ObjectSchema | undefined)?.required ?? []).length > 0;
  return {
    operationId: `${method}${path.replace(/[:*]/g, 'by-').replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase())}`,
    ...(summary !== undefined && { summary }),
    tags: [plugin],
    security: security(route),
    parameters: [...pathParameters(route), ...queryParameters(route.query)],
    ...(content && {
      requestBody: {
        required,
        content: { 'application/json': { schema: content }, ...(options['form'] === true && { 'application/x-www-form-urlencoded': { schema: content } }) },
      },
    }),
    responses: responses(route),
  };
}

/** Each entry is one way in; an empty one is a guest's. */
function security({ method, can, options }: RouteInfo): readonly object[] {
  const write = method !== 'get' && options['csrf'] !== false;
  const member = [{ bearer: [] }, write ? { session: [], csrf: [] } : { session: [] }];
  if (options['csrf'] === false && can === 'public') return [{}];
  if (can !== 'public' || options['login'] === true) return member;
  return [write ? { csrf: [] } : {}, ...member];
}

function pathParameters({ path, params }: RouteInfo): readonly Parameter[] {
  const known = (params as ObjectSchema | undefined)?.properties ?? {};
  const schemaOf = (name: string): JsonSchema => (known[name] ? jsonOf(known[name]) : { type: 'string' });
  return [...path.matchAll(/[:*](\w+)/g)].map(([, name = '']) => ({ name, in: 'path', required: true, schema: schemaOf(name) }));
}

function queryParameters(query: TSchema | undefined): readonly Parameter[] {
  const { properties = {}, required = [] } = (query ?? {}) as ObjectSchema;
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = jsonOf(property) as { description?: string };
    const optional = !required.includes(name) || 'default' in schema;
    return { name, in: 'query', required: !optional, ...(description !== undefined && { description }), schema };
  });
}

function responses({ status, result, method, can, options, body, path }: RouteInfo): Readonly<Record<string, object>> {
  const failures = [400, 429, 500, 503];
  if (can !== 'public' || options['login'] === true) failures.push(401, 403);
  else failures.push(401, ...(method === 'get' || options['csrf'] === false ? [] : [403]));
  if (/[:*]/.test(path)) failures.push(404);
  if (body) failures.push(413, 415);
  const document = options['document'] as string | undefined;
  const content = document === undefined ? { 'application/json': { schema: success(result) } } : { [document]: {} };
  return {
    [status]: { description: 'Success', headers: headerRefs(), content },
    ...Object.fromEntries(failures.sort((a, b) => a - b).map((failure) => [failure, { $ref: `#/components/responses/${FAILURES[failure]![0]}` }])),
  };
}

/** The result with the envelope's `success` in front. */
function success(result: TSchema | undefined): JsonSchema {
  const { properties, required = [], ...rest } = (result ? jsonOf(result) : { type: 'object' }) as ObjectSchema;
  if (result && !properties) return { allOf: [{ type: 'object', required: ['success'], properties: { success: { const: true } } }, rest] };
  return { ...rest, type: 'object', required: ['success', ...required], properties: { success: { const: true }, ...properties } };
}

/** Plain data without what only this program reads. */
const jsonOf = (schema: TSchema | JsonSchema): JsonSchema =>
  JSON.parse(JSON.stringify(schema, (key, value: unknown) => (key.startsWith('x-') || key.startsWith('~') ? undefined : value))) as JsonSchema;
