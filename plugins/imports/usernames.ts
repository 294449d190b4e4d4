/** Characters of a username. */
const [LEAST, MOST] = [3, 30];
/** What is there already ends so, until something is free. */
const TRIED_AT_ONCE = 20;

/** A username as near to this as the rules allow: `Jürgen Müller` is `Jurgen_Muller`. */
export function fittingName(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^A-Za-z0-9._-]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, MOST);
  if (!/[A-Za-z0-9]/.test(plain)) return 'member';
  return plain.padEnd(LEAST, '_');
}

/** The first of `ada`, `ada2`, `ada3` … that nobody has; `isTaken` is asked for several at once. */
export async function freeName(
  name: string,
  taken: (names: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<string> {
  for (let from = 1; ; from += TRIED_AT_ONCE) {
    const tried = Array.from({ length: TRIED_AT_ONCE }, (_, at) => numbered(name, from + at));
    const found = await taken(tried);
    const free = tried.find((one) => !found.has(one.toLowerCase()));
    if (free !== undefined) return free;
  }
}

const numbered = (name: string, number: number): string =>
  number === 1 ? name : `${name.slice(0, MOST - String(number).length)}${number}`;
