import qs from 'qs';
import { HttpError, InvalidInput } from 'parley-forum';

type Fields = { [key: string]: unknown };

/** Maximum number of fields of a form; no real one has more. */
const MAX_FIELDS = 1_000;
/**
 * Maximum number of entries of a list, and its highest index: a list is allocated up to that, whichever entries are
 * sent.
 */
const MAX_LIST_ENTRIES = 500;
/** Maximum levels of brackets, as in `a[b][c]`. */
const MAX_DEPTH = 4;
const FORBIDDEN = /(?:^|[[\].])(?:__proto__|prototype|constructor)(?:$|[[\].])/;
/** Maximum length of a field name repeated in an error, in characters. */
const MAX_SHOWN_NAME = 80;

type Decoder = NonNullable<qs.IParseOptions['decoder']>;

/** Rejects names that could reach a shared prototype; qs itself would drop them silently. */
const decoder: Decoder = (text, decode, charset, type) => {
  const decoded = decode(text, decode, charset);
  if (type === 'key' && FORBIDDEN.test(decoded)) throw notName(decoded);
  return decoded;
};

const notName = (name: string): InvalidInput =>
  new InvalidInput([{ field: name.slice(0, MAX_SHOWN_NAME), message: 'is not a field name' }]);

/**
 * `a[b]` creates an object; `a[]`, `a[0]` and a repeated `a` create a list, without blank entries: forms send one to
 * say that a list is empty. Line breaks are normalized to those of the field: browsers send CRLF for each, and the
 * length limits of the field do not count that. Fields are counted before any of them is parsed.
 */
export function parseForm(text: string): Fields {
  try {
    return cleaned(
      qs.parse(text, {
        decoder,
        plainObjects: true,
        depth: MAX_DEPTH,
        strictDepth: true,
        parameterLimit: MAX_FIELDS,
        arrayLimit: MAX_LIST_ENTRIES,
        throwOnLimitExceeded: true,
      }),
    ) as Fields;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw limitOf(error);
  }
}

/** Finds out which of the limits above was exceeded: qs reports that only in the error message. */
function limitOf(error: RangeError): Error {
  if (error.message.startsWith('Parameter'))
    return new HttpError(413, `A form may have at most ${MAX_FIELDS} fields`, { cause: error });
  if (error.message.startsWith('Array'))
    return new HttpError(413, `A list in a form may have at most ${MAX_LIST_ENTRIES} entries`, { cause: error });
  return new InvalidInput([{ field: 'body', message: `has a field name with more than ${MAX_DEPTH} levels` }]);
}

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\r\n', '\n');
  if (Array.isArray(value)) return value.filter((entry) => entry !== '').map(cleaned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, cleaned(inner)]));
}
