import { KEY_HEADER } from '../idempotency.ts';
import { CONDITION } from '../preconditions.ts';

/** The parts that API responses share, as the `components` of an OpenAPI document. */

const integer = { type: 'integer' };
const rateHeaders = {
  'X-RateLimit-Limit': {
    description: 'Calls in the window: a minute, or what the bucket of the call says',
    schema: integer,
  },
  'X-RateLimit-Remaining': { description: 'Calls left', schema: integer },
  'X-RateLimit-Reset': { description: 'Epoch seconds when all are left again', schema: integer },
};
const headers = {
  ...rateHeaders,
  'Retry-After': { description: 'Seconds to wait before the next call', schema: { type: 'integer', minimum: 1 } },
  'Idempotency-Replayed': {
    description: `\`true\`: the answer to the first request of this ${KEY_HEADER}; nothing was created again`,
    schema: { const: 'true' },
  },
  Location: {
    description: 'The address of what was created',
    schema: { type: 'string', format: 'uri-reference' },
  },
  'WWW-Authenticate': { description: 'How to say who calls', schema: { type: 'string' } },
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
  401: { name: 'Unauthenticated', description: 'No login, or a bad token', headers: ['WWW-Authenticate'] },
  403: { name: 'Forbidden', description: 'Not allowed, or no valid forgery token (`csrf_failed`)' },
  404: { name: 'NotFound', description: 'Not there, or not visible to the caller' },
  409: {
    name: 'Conflict',
    description: `Changed by somebody else meanwhile, or another request had this ${KEY_HEADER} (\`idempotency_key_reused\`)`,
  },
  412: {
    name: 'PreconditionFailed',
    description: `Changed since the caller read it, as its ${CONDITION} says (\`precondition_failed\`)`,
  },
  413: {
    name: 'TooLarge',
    description:
      'The body is larger than 64 KiB, or than 1 MiB where it carries a text, or a file larger than the forum takes',
  },
  415: { name: 'UnsupportedMediaType', description: 'The body is not of a supported type' },
  429: {
    name: 'RateLimited',
    description: 'Too many calls; `Retry-After` says how many seconds to wait',
    headers: ['Retry-After'],
  },
  500: { name: 'InternalError', description: 'A fault of the server' },
  503: { name: 'Unavailable', description: 'Try again later', headers: ['Retry-After'] },
};

const text = { type: 'string' };
const failure = {
  type: 'object',
  required: ['success', 'error', 'code', 'request_id'],
  properties: {
    success: { const: false },
    error: { ...text, description: 'For people' },
    code: { ...text, description: 'For programs: a stable word' },
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
      description: 'A token made under Settings → Security; needs no forgery token',
    },
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: 'parley.sid',
      description: 'The cookie of a login; `__Host-parley.sid` under https',
    },
    csrf: {
      type: 'apiKey',
      in: 'header',
      name: 'X-CSRF-Token',
      description: 'Beside the cookie, for everything that writes; from the `csrf-token` meta tag of any page',
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
        'Names this request for 24 hours: sent again with the same key it creates nothing and gets the first answer',
    },
    IfMatch: {
      name: CONDITION,
      in: 'header' as const,
      required: false,
      schema: { type: 'string', minLength: 1 },
      description:
        'The `ETag` with which GET of this address answered: where it would be another by now, nothing is done',
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
