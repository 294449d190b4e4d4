import { KEY_HEADER } from '../idempotency.ts';
import { CONDITION } from '../preconditions.ts';

/** The parts that API responses share, as the `components` of an OpenAPI document. */

const integer = { type: 'integer' };
const rateHeaders = {
  'X-RateLimit-Limit': {
    description: 'Calls allowed per window: a minute, or the window of the call’s own bucket',
    schema: integer,
  },
  'X-RateLimit-Remaining': { description: 'Calls remaining', schema: integer },
  'X-RateLimit-Reset': { description: 'Epoch seconds at which the limit is fully reset', schema: integer },
};
const headers = {
  ...rateHeaders,
  'Retry-After': { description: 'Seconds to wait before the next call', schema: { type: 'integer', minimum: 1 } },
  'Idempotency-Replayed': {
    description: `\`true\`: the response to the first request with this ${KEY_HEADER}; nothing was created again`,
    schema: { const: 'true' },
  },
  Location: {
    description: 'The URL of the created resource',
    schema: { type: 'string', format: 'uri-reference' },
  },
  'WWW-Authenticate': { description: 'How to authenticate', schema: { type: 'string' } },
};
const refs = (names: readonly string[]): object =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** The headers of every response, plus additional ones by name. */
export const headersOf = (...more: readonly (keyof typeof headers)[]): object =>
  refs([...Object.keys(rateHeaders), ...more]);

interface Failure {
  readonly name: string;
  readonly description: string;
  readonly headers?: readonly (keyof typeof headers)[];
}
/** How a call can fail, by status. */
export const FAILURES: Readonly<Record<number, Failure>> = {
  400: { name: 'Invalid', description: 'Invalid or missing input; `details` names the fields' },
  401: { name: 'Unauthenticated', description: 'Not logged in, or an invalid token', headers: ['WWW-Authenticate'] },
  403: { name: 'Forbidden', description: 'Not allowed, or no valid CSRF token (`csrf_failed`)' },
  404: { name: 'NotFound', description: 'Does not exist, or is not visible to the caller' },
  409: {
    name: 'Conflict',
    description: `Changed by someone else in the meantime, or this ${KEY_HEADER} was used for another request (\`idempotency_key_reused\`)`,
  },
  412: {
    name: 'PreconditionFailed',
    description: `Changed since the caller read it, according to ${CONDITION} (\`precondition_failed\`)`,
  },
  413: {
    name: 'TooLarge',
    description:
      'The body is larger than 64 KiB, or than 1 MiB if it contains a text, or a file is larger than the forum accepts',
  },
  415: { name: 'UnsupportedMediaType', description: 'The type of the body is not supported' },
  429: {
    name: 'RateLimited',
    description: 'Too many calls; `Retry-After` is the number of seconds to wait',
    headers: ['Retry-After'],
  },
  500: { name: 'InternalError', description: 'An internal server error' },
  503: { name: 'Unavailable', description: 'Try again later', headers: ['Retry-After'] },
};

const text = { type: 'string' };
const failure = {
  type: 'object',
  required: ['success', 'error', 'code', 'request_id'],
  properties: {
    success: { const: false },
    error: { ...text, description: 'Human-readable' },
    code: { ...text, description: 'Machine-readable: a stable code' },
    request_id: text,
    details: {
      type: 'array',
      items: { type: 'object', required: ['field', 'message'], properties: { field: text, message: text } },
    },
  },
};

export const components = {
  securitySchemes: {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: 'A token created under Settings → Security; requires no CSRF token',
    },
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: 'parley.sid',
      description: 'The session cookie; `__Host-parley.sid` over HTTPS',
    },
    csrf: {
      type: 'apiKey',
      in: 'header',
      name: 'X-CSRF-Token',
      description: 'Required in addition to the cookie for every write; from the `csrf-token` meta tag of any page',
    },
  },
  schemas: { Failure: failure },
  headers,
  parameters: {
    IdempotencyKey: {
      name: KEY_HEADER,
      in: 'header' as const,
      required: false,
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
      description:
        'Identifies this request for 24 hours: if sent again with the same key, it creates nothing and gets the first response',
    },
    IfMatch: {
      name: CONDITION,
      in: 'header' as const,
      required: false,
      schema: { type: 'string', minLength: 1 },
      description: 'The `ETag` that GET returned for this URL: if it has changed since, nothing is done',
    },
  },
  responses: Object.fromEntries(
    Object.values(FAILURES).map(({ name, description, headers: more = [] }) => [
      name,
      {
        description,
        headers: headersOf(...more),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } },
      },
    ]),
  ),
};
