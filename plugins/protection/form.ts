import qs from 'qs';
import { HttpError, InvalidInput } from 'parley-forum';

type Fields = { [key: string]: unknown };

/** Fields of a form; no real one has more. */
const MAX_FIELDS = 1_000;
/** Entries of one list, and its highest number: a list is made up to it, whichever entries are sent. */
const MAX_LIST_ENTRIES = 500;
/** Levels in brackets, as in `a[b][c]`. */
const MAX_DEPTH = 4;
const FORBIDDEN = /(?:^|[[\].])(?:__proto__|prototype|constructor)(?:$|[[\].])/;
/** Characters of a name that an error repeats. */
const MAX_SHOWN_NAME = 80;

type Decoder = NonNullable<qs.IParseOptions['decoder']>;

/** Names that reach what all objects share are refused; qs itself would leave them out without a word. */
const decoder: Decoder = (text, decode, charset, type) => {
  const decoded = decode(text, decode, charset);
  if (type === 'key' && FORBIDDEN.test(decoded)) throw notName(decoded);
  return decoded;
};

const notName = (name: string): InvalidInput =>
  new InvalidInput([{ field: name.slice(0, MAX_SHOWN_NAME), message: 'is not a field name' }]);

/**
 * `a[b]` makes an object, `a[]`, `a[0]` and a repeated `a` a list, without blank entries: forms send one to say that a
 * list is empty. Lines end as they did in the field: browsers send two characters for each, which no limit that the
 * field has counts. Fields are counted before any of them is read.
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

/** Which limit was met, of those given above: qs says so in words alone. */
function limitOf(error: RangeError): Error {
  if (error.message.startsWith('Parameter'))
    return new HttpError(413, `A form may have ${MAX_FIELDS} fields`, { cause: error });
  if (error.message.startsWith('Array'))
    return new HttpError(413, `A list of a form may have ${MAX_LIST_ENTRIES} entries`, { cause: error });
  return new InvalidInput([
    { field: 'body', message: `has a name with more than ${MAX_DEPTH} levels, which is not a field name` },
  ]);
}

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\r\n', '\n');
  if (Array.isArray(value)) return value.filter((entry) => entry !== '').map(cleaned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, cleaned(inner)]));
}
