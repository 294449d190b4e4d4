/** The syntax of usernames. */
export const USERNAME = /^(?=.*[A-Za-z0-9])[A-Za-z0-9._-]{3,30}$/;
/** Minimum and maximum length in characters. */
const [SHORTEST, LONGEST] = [3, 30];
/** Number of names looked up at once. */
const TRIED_AT_ONCE = 20;

/** The username closest to a name from elsewhere; undefined if too little of it can be used. */
export function fittedUsername(name: string): string | undefined {
  const fitted = name
    .split('@', 1)[0]!
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/ß/g, 'ss')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .slice(0, LONGEST)
    .replace(/^[._-]+|[._-]+$/g, '');
  return fitted.length < SHORTEST ? undefined : fitted;
}

/** The first of `ada`, `ada-2`, `ada-3` … that `taken` does not report, in lower case, as taken. */
export async function freeUsername(
  fitted: string,
  taken: (names: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<string> {
  for (let from = 1; ; from += TRIED_AT_ONCE) {
    const tried = Array.from({ length: TRIED_AT_ONCE }, (_, at) => numbered(fitted, from + at));
    const found = await taken(tried);
    const free = tried.find((name) => !found.has(name.toLowerCase()));
    if (free !== undefined) return free;
  }
}

const numbered = (name: string, number: number): string =>
  number === 1 ? name : `${name.slice(0, LONGEST - 1 - String(number).length)}-${number}`;
