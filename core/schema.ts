import {
  Ajv2020,
  type ErrorObject,
  type FormatDefinition,
  type Options,
  type ValidateFunction,
} from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { Static, TSchema } from 'typebox';
import { InvalidInput, MOST_PROBLEMS, type FieldProblem } from './errors.ts';

/** JSON Schema builders and the types inferred from them, re-exported from typebox. */
export { Type, type Static, type TObject, type TSchema } from 'typebox';

const DIGITS = /^-?\d+(\.\d*[1-9])?$/;
/** Keyword for the message shown for text that does not match `pattern`, as few people can read patterns. */
const PATTERN_PROBLEM = 'x-pattern-problem';
/** What a text of each format must be; those that are not listed are named. */
const FORMAT_PROBLEMS: Readonly<Record<string, string>> = {
  date: 'must be a date such as 2026-01-31',
  'date-time': 'must be a time such as 2026-01-31T12:00:00Z',
  email: 'must be an email address',
  uri: 'must be a URL such as https://example.org',
  uuid: 'must be a UUID',
};
const KEYWORDS = [
  'x-secret',
  'x-restart',
  'x-order',
  'x-group',
  'x-danger',
  'x-markdown',
  'x-deprecated',
  PATTERN_PROBLEM,
];

const DAY = 86_400_000;
const [FIRST_MOMENT, LAST_MOMENT] = [Date.UTC(1000, 0, 2), Date.UTC(9999, 11, 31, 23, 59, 59, 999)];

/**
 * Whether a time (epoch milliseconds) has a four-digit year in every time zone: PostgreSQL cannot parse how JavaScript
 * formats other years. A date must fulfil this until the end of its day.
 */
export const isMoment = (time: number): boolean => time >= FIRST_MOMENT && time <= LAST_MOMENT;

function compiler(options: Options): Ajv2020 {
  // typebox's types already keep schemas valid; validating them against the meta-schema would add 70 ms to startup.
  const ajv = new Ajv2020({
    allErrors: true,
    useDefaults: true,
    strict: true,
    strictTypes: false,
    strictTuples: false,
    meta: false,
    validateSchema: false,
    ...options,
  });
  // ajv-formats is CommonJS: imported as an ES module, its function is under `default`.
  (formats as unknown as { default: (ajv: Ajv2020) => void }).default(ajv);
  for (const [name, ahead] of [
    ['date', 2 * DAY],
    ['date-time', 0],
  ] as const) {
    const known = ajv.formats[name] as FormatDefinition<string> & { validate(text: string): boolean };
    const validate = (text: string): boolean =>
      known.validate(text) && [0, ahead].every((more) => isMoment(Date.parse(text) + more));
    ajv.addFormat(name, { ...known, validate });
  }
  for (const keyword of KEYWORDS) ajv.addKeyword(keyword);
  return ajv;
}

/**
 * Strips unknown fields, so that handlers only see what is typed. Done here instead of in each schema. Alternatives
 * (`anyOf`) are left open, because ajv would remove for one branch what another one needs.
 */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null || 'anyOf' in schema || 'allOf' in schema) return schema;
  const { properties, items, ...rest } = schema as { properties?: Record<string, unknown>; items?: unknown };
  const inner = Object.entries(properties ?? {}).map(([name, property]) => [name, closed(property)]);
  return {
    ...rest,
    ...(properties && { additionalProperties: false, ...schema, properties: Object.fromEntries(inner) }),
    ...(items !== undefined && { items: closed(items) }),
  };
}

const exact = compiler({ removeAdditional: true });
const coercing = compiler({ removeAdditional: true, coerceTypes: true });
/** Keyed by the schema's `properties` object, if it has one: schemas that plugins extend come and go. */
const compiled = { exact: new WeakMap<object, ValidateFunction>(), coercing: new WeakMap<object, ValidateFunction>() };

/** Decodes a part of a JSON pointer. */
const unescaped = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~');

/**
 * The schema's own message for text that does not match its pattern. It is looked up here, because errors that include
 * their schema make every schema a quarter slower to compile.
 */
function patternProblem({ keyword, schemaPath }: ErrorObject, schema: unknown): string | undefined {
  if (keyword !== 'pattern') return undefined;
  const parts = schemaPath.split('/').slice(1, -1).map(decodeURIComponent).map(unescaped);
  const own = parts.reduce((outer, part) => (outer as Record<string, unknown> | undefined)?.[part], schema);
  return (own as { [PATTERN_PROBLEM]?: string } | undefined)?.[PATTERN_PROBLEM];
}

function problem(error: ErrorObject, schema: unknown): FieldProblem {
  const path = unescaped(error.instancePath.slice(1).replaceAll('/', '.'));
  const missing = error.keyword === 'required' ? String(error.params['missingProperty']) : '';
  const allowed = error.keyword === 'enum' ? `: ${(error.params['allowedValues'] as unknown[]).join(', ')}` : '';
  const empty = missing !== '' || /fewer than 1 characters|pattern "\\S"/.test(error.message ?? '');
  const plain = patternProblem(error, schema) ?? FORMAT_PROBLEMS[String(error.params['format'])];
  return {
    field: [path, missing].filter(Boolean).join('.') || 'body',
    message: empty ? 'is required' : (plain ?? `${error.message ?? 'is not valid'}${allowed}`),
  };
}

/**
 * Either `ok` with a cleaned copy of the value (defaults filled in, unknown fields removed, all text well-formed
 * Unicode without U+0000) or the list of problems.
 */
export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] };

/** Validates `value` against `schema`. Use `coerce` for params, queries and forms, whose values arrive as text. */
export function check<S extends TSchema>(schema: S, value: unknown, { coerce = false } = {}): Checked<Static<S>> {
  const [kind, key] = [
    coerce ? 'coercing' : 'exact',
    (schema as { properties?: object }).properties ?? schema,
  ] as const;
  let validate = compiled[kind].get(key);
  if (!validate) compiled[kind].set(key, (validate = (coerce ? coercing : exact).compile(closed(schema) as TSchema)));
  const copy = structuredClone(value);
  if (!validate(copy)) {
    const errors = (validate.errors ?? []).slice(0, MOST_PROBLEMS);
    return { ok: false, problems: errors.map((error) => problem(error, validate.schema)) };
  }
  const faults = faultsOf(copy, value, '');
  return faults.length > 0
    ? { ok: false, problems: faults.slice(0, MOST_PROBLEMS) }
    : { ok: true, value: copy as Static<S> };
}

/** Whether PostgreSQL can store a text and parse it as JSON. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** Whether a text is invisible: only white space and default-ignorable characters. */
export const isUnseen = (text: string): boolean => /^[\s\p{Default_Ignorable_Code_Point}]*$/u.test(text);

/**
 * Removes the control characters that change the direction of the text that follows, even beyond the end of the string.
 * Directional marks stay, because names that mix scripts need them.
 */
export const withoutDirections = (text: string): string => text.replace(/[\u202A-\u202E\u2066-\u2069]/g, '');

/**
 * Problems that a schema cannot express: text that PostgreSQL cannot store or parse as JSON, and numbers not written in
 * plain digits, such as "1e1", or with so many digits that they became infinite, for which ajv checks no limits.
 */
function faultsOf(value: unknown, given: unknown, field: string): readonly FieldProblem[] {
  if (typeof value === 'string')
    return isStorable(value)
      ? []
      : [{ field: field || 'body', message: 'must be Unicode text without the character U+0000' }];
  if (typeof value === 'number')
    return typeof given === 'string' && !(DIGITS.test(given) && Number.isFinite(value))
      ? [{ field, message: Number.isFinite(value) ? 'must be written in plain digits' : 'has too many digits' }]
      : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    isStorable(name)
      ? faultsOf(inner, (Object(given) as Record<string, unknown>)[name], field ? `${field}.${name}` : name)
      : [{ field: field || 'body', message: 'must have names of Unicode text without the character U+0000' }],
  );
}

/** Like `check`, but throws `InvalidInput` (400) listing every problem. */
export function parse<S extends TSchema>(schema: S, value: unknown, options?: { coerce?: boolean }): Static<S> {
  const result = check(schema, value, options);
  if (!result.ok) throw new InvalidInput(result.problems);
  return result.value;
}
