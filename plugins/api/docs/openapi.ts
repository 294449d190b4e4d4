import { MAX_PAGE, type ApiOptions } from 'parley-forum/plugins/api';
import type { RouteInfo, TSchema } from 'parley-forum';
import { components, FAILURES, headersOf } from './components.ts';
import { isCreation } from '../idempotency.ts';
import { isChange } from '../preconditions.ts';
import { ACCEPTED } from '../responses.ts';

/** The parts of an OpenAPI 3.1 document that the HTML page reads. */
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
  readonly parameters: readonly (Parameter | Reference)[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>>;
  };
  readonly responses: Readonly<Record<string, object>>;
}
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}
/** Refers to a part that several operations share. */
interface Reference {
  readonly $ref: string;
}
export type JsonSchema = Readonly<Record<string, unknown>>;

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

const DESCRIPTION = `Responses are JSON with \`success\`. Members authenticate with a bearer token, created under Settings → Security; reads that are open to guests require none.
Lists accept \`limit\` (at most ${MAX_PAGE}), and \`offset\` or \`cursor\`. The \`X-RateLimit-*\` headers of every response report how many calls are left.
Calls that create something accept an \`Idempotency-Key\`, so that they can be sent again if the response is lost; changes accept an \`If-Match\`. Unknown fields and parameters are ignored.`;

/**
 * Describes `routes` using the schemas that validate them. Sorted by path, so that the same routes produce the same
 * document.
 */
export function describe(
  routes: readonly RouteInfo<ApiOptions>[],
  info: { readonly title: string; readonly version: string; readonly url: string },
): OpenApi {
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
const pathOf = ({ surface, path }: RouteInfo<ApiOptions>): string =>
  surface.prefix + path.replace(/[:*](\w+)/g, '{$1}');

function operation(route: RouteInfo<ApiOptions>): Operation {
  const { method, path, summary, plugin, body, options } = route;
  const content = body ? jsonOf(body) : options.raw === true ? {} : undefined;
  const required = ((body as ObjectSchema | undefined)?.required ?? []).length > 0;
  return {
    operationId: `${method}${path.replace(/[:*]/g, 'by-').replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase())}`,
    ...(summary !== undefined && { summary }),
    tags: [plugin],
    security: security(route),
    parameters: [
      ...pathParameters(route),
      ...queryParameters(route.query),
      ...(isCreation(route) ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
      ...(isChange(route) ? [{ $ref: '#/components/parameters/IfMatch' }] : []),
    ],
    ...(content && {
      requestBody: {
        required,
        content: route.options.multipart
          ? { 'multipart/form-data': { schema: content } }
          : {
              'application/json': { schema: content },
              ...(options.form === true && { 'application/x-www-form-urlencoded': { schema: content } }),
            },
      },
    }),
    responses: responses(route),
  };
}

/** Each entry is one way to authenticate; an empty one means guest access. */
function security({ method, can, options }: RouteInfo<ApiOptions>): readonly object[] {
  const write = method !== 'get' && options.csrf !== false;
  const member = [{ bearer: [] }, write ? { session: [], csrf: [] } : { session: [] }];
  if (options.csrf === false && can === 'public') return [{}];
  if (can !== 'public') return member;
  return [write ? { csrf: [] } : {}, ...member];
}

function pathParameters({ path, params }: RouteInfo<ApiOptions>): readonly Parameter[] {
  const known = (params as ObjectSchema | undefined)?.properties ?? {};
  const schemaOf = (name: string): JsonSchema => (known[name] ? jsonOf(known[name]) : { type: 'string' });
  return [...path.matchAll(/[:*](\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: schemaOf(name),
  }));
}

function queryParameters(query: TSchema | undefined): readonly Parameter[] {
  const { properties = {}, required = [] } = (query ?? {}) as ObjectSchema;
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = jsonOf(property) as { description?: string };
    const optional = !required.includes(name) || 'default' in schema;
    return { name, in: 'query', required: !optional, ...(description !== undefined && { description }), schema };
  });
}

/** The status codes with which a call to the route may fail, ascending. */
export function errorStatuses({ method, can, options, query, body, path }: RouteInfo<ApiOptions>): readonly number[] {
  const write = method !== 'get';
  const named =
    /[:*]/.test(path) ||
    Object.keys({
      ...(query as ObjectSchema | undefined)?.properties,
      ...(body as ObjectSchema | undefined)?.properties,
    }).some((name) => /_ids?$/.test(name));
  return [
    400,
    401,
    ...(can !== 'public' || named || (write && options.csrf !== false) ? [403] : []),
    ...(named ? [404] : []),
    ...(write ? [409] : []),
    ...(isChange({ method }) ? [412] : []),
    ...(body ? [413, 415] : options.raw === true ? [413] : []),
    429,
    500,
    503,
  ];
}

function responses(route: RouteInfo<ApiOptions>): Readonly<Record<string, object>> {
  const { status, result, options } = route;
  const document = options.document;
  const content = document === undefined ? { 'application/json': { schema: success(result) } } : { [document]: {} };
  const more = isCreation(route) ? (['Idempotency-Replayed'] as const) : [];
  const headers = headersOf(...more);
  return {
    [status]: {
      description: 'Success',
      headers: options.location ? headersOf(...more, 'Location') : headers,
      content,
    },
    ...(options.accepted && {
      [ACCEPTED]: {
        description: 'Accepted, but not completed yet',
        headers,
        content: { 'application/json': { schema: success(options.accepted) } },
      },
    }),
    ...Object.fromEntries(
      errorStatuses(route).map((failure) => [failure, { $ref: `#/components/responses/${FAILURES[failure]!.name}` }]),
    ),
  };
}

/** The result with the envelope's `success` in front. */
function success(result: TSchema | undefined): JsonSchema {
  const { properties, required = [], ...rest } = (result ? jsonOf(result) : { type: 'object' }) as ObjectSchema;
  if (result && !properties)
    return { allOf: [{ type: 'object', required: ['success'], properties: { success: { const: true } } }, rest] };
  return {
    ...rest,
    type: 'object',
    required: ['success', ...required],
    properties: { success: { const: true }, ...properties },
  };
}

/** The schema as plain JSON, without the keywords that only this program reads. */
const jsonOf = (schema: TSchema | JsonSchema): JsonSchema =>
  JSON.parse(
    JSON.stringify(schema, (key, value: unknown) => (key.startsWith('x-') || key.startsWith('~') ? undefined : value)),
  ) as JsonSchema;
