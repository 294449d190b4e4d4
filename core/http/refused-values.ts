import { causesOf, InvalidInput, messageOf, notFound, type HttpError } from '../errors.ts';

/**
 * PostgreSQL's codes for what is no value of a type, such as a word for a `uuid`, or is beyond what it holds. Its
 * message quotes the value.
 */
const REFUSED_CODES = new Set(['22P02', '22003', '22007', '22008']);
/** Quotation marks are those of the database's language; French has a space inside of them. */
const QUOTED = /«[ \u00A0\u202F](.*)[ \u00A0\u202F]»|["'«»„“”‘’‹›「](.*)["'«»„“”‘’‹›」]/su;

/** What a request said, by where. */
interface Said {
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
}

/** A value that the database refused, and that the request brought. */
export interface RefusedValue {
  /** Where it stood: `params.id`, `body.ids.0`. */
  readonly field: string;
  /** How that is answered: 404 for one of the path, which names nothing, else 400 with the field. */
  readonly failure: HttpError;
}

/**
 * What is at fault in a request where the database could not read a value of it: then a plugin looked for something with
 * a text that it had not checked. Undefined for all other errors, and for values that were not the request's own.
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

/** The paths of what is, or reads as, `text`. */
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
