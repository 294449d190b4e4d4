/** Entity discovery is off: plugins register their entities when they start. */
export const ORM_OPTIONS = {
  entities: [],
  extensions: [],
  discovery: { warnWhenNoEntities: false },
  colors: false,
  ensureDatabase: false,
};

type Reader = (text: string) => unknown;

/** Both databases run in UTC, so the text form ends in `+00` or, without a time zone, has no suffix. */
const instant: Reader = (text) => new Date(`${text.replace(' ', 'T').replace('+00', '')}Z`);
const same: Reader = (text) => text;
/** None of these types has commas or quotes in its values. */
const listOf =
  (read: Reader): Reader =>
  (text) =>
    text === '{}'
      ? []
      : text
          .slice(1, -1)
          .split(',')
          .map((item) => (item === 'NULL' ? null : read(item.replaceAll('"', ''))));

/**
 * Parsers by type OID, for types that the two drivers parse differently: bytea, int8, numeric, dates, intervals, and
 * arrays of them.
 */
export const TYPE_PARSERS: Readonly<Record<number, Reader>> = {
  17: (text) => Buffer.from(text.slice(2), 'hex'),
  20: Number,
  1700: Number,
  1114: instant,
  1184: instant,
  1082: same,
  1186: same,
  1016: listOf(Number),
  1231: listOf(Number),
  1115: listOf(instant),
  1185: listOf(instant),
  1182: listOf(same),
  1187: listOf(same),
};
