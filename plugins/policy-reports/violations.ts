/**
 * The directive that blocked something, and the source it would have come from. Both are short values of a known form.
 */
export interface Violation {
  readonly directive: string;
  readonly blocked: string;
}

/** The maximum number of reports read per request. */
const MAX_REPORTS = 20;
const DIRECTIVES = new Set([
  'default-src',
  'script-src',
  'script-src-elem',
  'script-src-attr',
  'style-src',
  'style-src-elem',
  'style-src-attr',
  'img-src',
  'font-src',
  'connect-src',
  'media-src',
  'manifest-src',
  'worker-src',
  'frame-src',
  'frame-ancestors',
  'form-action',
  'base-uri',
  'object-src',
  'require-trusted-types-for',
  'trusted-types',
]);
const KEYWORDS = new Set(['inline', 'eval', 'wasm-eval', 'self', 'trusted-types-policy', 'trusted-types-sink']);
const OTHER = 'other';

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

/**
 * Parses both formats that browsers send: an object with one report, or a list of reports. Anything else is left out.
 */
export function violationsIn(body: unknown): readonly Violation[] {
  if (Array.isArray(body)) {
    const reports = body
      .slice(0, MAX_REPORTS)
      .map(fieldsOf)
      .filter(({ type }) => type === 'csp-violation')
      .map((report) => fieldsOf(report['body']));
    return reports.map((report) => violationOf(report['effectiveDirective'], report['blockedURL']));
  }
  const report = fieldsOf(body)['csp-report'];
  if (typeof report !== 'object' || report === null) return [];
  const fields = fieldsOf(report);
  return [violationOf(fields['effective-directive'] ?? fields['violated-directive'], fields['blocked-uri'])];
}

function violationOf(directive: unknown, blocked: unknown): Violation {
  const [name = ''] = typeof directive === 'string' ? directive.split(' ') : [];
  return { directive: DIRECTIVES.has(name) ? name : OTHER, blocked: originOf(blocked) };
}

/** Never more than an origin, since paths and queries may be personal. */
function originOf(blocked: unknown): string {
  if (typeof blocked !== 'string') return OTHER;
  if (KEYWORDS.has(blocked)) return blocked;
  const url = URL.parse(blocked);
  // Some browsers send only the scheme, such as `data`.
  if (!url) return /^[a-z][a-z-]{0,30}$/.test(blocked) ? `${blocked}:` : OTHER;
  const origin = ['http:', 'https:', 'ws:', 'wss:'].includes(url.protocol)
    ? `${url.protocol}//${url.host}`
    : url.protocol;
  return origin.length > 200 ? OTHER : origin;
}
