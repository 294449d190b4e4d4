import { causesOf, InvalidInput, messageOf, notFound, type HttpError } from '../errors.ts';

/**
 * SQLSTATE codes for values that are invalid for their type, such as a word for a `uuid`, or out of range. The error
 * message quotes the value.
 */
const REFUSED_CODES = new Set(['22P02', '22003', '22007', '22008']);
/** Quotation marks depend on the database's language; French puts a space inside them. */
const QUOTED = /«[ \u00A0\u202F](.*)[ \u00A0\u202F]»|["'«»„“”‘’‹›「](.*)["'«»„“”‘’‹›」]/su;

/** The values of a request, by where they came from. */
interface Said {
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
}

/** A value from the request that the database rejected. */
export interface RefusedValue {
  /** The path of the value: `params.id`, `body.ids.0`. */
  readonly field: string;
  /** The response: 404 for a value in the path, which then names nothing; otherwise 400 naming the field. */
  readonly failure: HttpError;
}

/**
 * Finds the request value that the database could not parse: a plugin passed text to a statement without validating it.
 * Undefined for all other errors, and for values that did not come from the request.
 */
export function refusedValue(error: unknown, said: Said): RefusedValue | undefined {
  const refusal = causesOf(error).findLast((cause) => REFUSED_CODES.has(codeOf(cause)));
  const [, spaced, value = spaced] = refusal === undefined ? [] : (QUOTED.exec(messageOf(refusal)) ?? []);
  if (value === undefined) return undefined;
  const [param] = fieldsWith(value, said.params);
  if (param !== undefined) return { field: `params.${param}`, failure: notFound() };
  const place = (['query', 'body'] as const).find((one) => fieldsWith(value, said[one]).length > 0);
  if (place === undefined) return undefined;
  const field = fieldsWith(value, said[place])[0]!;
  return { field: `${place}.${field}`, failure: new InvalidInput([{ field, message: 'is not valid' }]) };
}

const codeOf = (error: unknown): string => String((Object(error) as { code?: unknown }).code);

/** The paths of all values that equal `text` when converted to a string. */
function fieldsWith(text: string, value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === 'object'
      ? fieldsWith(text, inner).map((path) => `${name}.${path}`)
      : String(inner) === text
        ? [name]
        : [],
  );
}
