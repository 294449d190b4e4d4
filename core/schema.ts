import {
  Ajv2020,
  type ErrorObject,
  type FormatDefinition,
  type Options,
  type ValidateFunction,
} from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { Static, TSchema } from 'typebox';
import { InvalidInput, type FieldProblem } from './errors.ts';

/** Schemas as JSON Schema, and the types of the values that fit them: typebox’s own. */
export { Type, type Static, type TObject, type TSchema } from 'typebox';

/** Problems of one value that are told; more than anybody reads, and than an answer should hold. */
const MOST_PROBLEMS = 100;
const DIGITS = /^-?\d+(\.\d*[1-9])?$/;
/** What a text that does not match `pattern` is told, which few can read. */
const PATTERN_PROBLEM = 'x-pattern-problem';
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
 * Whether epoch milliseconds are of a year with four digits, in every time zone: JavaScript writes others as PostgreSQL
 * does not read them. A day has to be one until its end.
 */
export const isMoment = (time: number): boolean => time >= FIRST_MOMENT && time <= LAST_MOMENT;

function compiler(options: Options): Ajv2020 {
  // The builder's types keep schemas valid; to check them against the schema of schemas as well costs a start 70 ms.
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
  // ajv-formats is CommonJS: under Node's ES modules its callable sits in `default`.
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
 * Unknown fields are left out, so what is typed is all that a handler can see. Closed here and not in each schema;
 * alternatives (`anyOf`) are left as they are, since ajv would remove for one branch what another one needs.
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
/** By their properties, where they have some: those that plugins add to a schema come and go. */
const compiled = { exact: new WeakMap<object, ValidateFunction>(), coercing: new WeakMap<object, ValidateFunction>() };

/** A part of a JSON pointer as it is called. */
const unescaped = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~');

/**
 * What the schema itself tells whoever does not match its pattern. It is looked up: errors that have their schema make
 * every schema a quarter slower to compile.
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
  return {
    field: [path, missing].filter(Boolean).join('.') || 'body',
    message: empty ? 'is required' : (patternProblem(error, schema) ?? `${error.message ?? 'is not valid'}${allowed}`),
  };
}

/**
 * `ok` with a cleaned copy of the value (defaults filled in, unknown fields left out; all text is whole Unicode without
 * U+0000), or the problems found.
 */
export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] };

/** Checks `value` against `schema`. Params, queries and forms arrive as text: they are checked with `coerce`. */
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

/** Whether PostgreSQL can hold a text, and read it as JSON. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** Whether nothing of a text can be seen: white space, and characters that show nothing by themselves. */
export const isUnseen = (text: string): boolean => /^[\s\p{Default_Ignorable_Code_Point}]*$/u.test(text);

/**
 * Without the characters that turn the direction of whatever follows, also behind the end of the text. Marks that have
 * a direction of their own stay, as names in two scripts need them.
 */
export const withoutDirections = (text: string): string => text.replace(/[\u202A-\u202E\u2066-\u2069]/g, '');

/**
 * What no schema tells: a text that PostgreSQL cannot hold or read as JSON, a number that was written otherwise than in
 * digits, as "1e1", or in so many that it became infinite, for which Ajv looks at no limit.
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

/** As `check`, but throws `InvalidInput` (400) with every problem. */
export function parse<S extends TSchema>(schema: S, value: unknown, options?: { coerce?: boolean }): Static<S> {
  const result = check(schema, value, options);
  if (!result.ok) throw new InvalidInput(result.problems);
  return result.value;
}
