/** How many single-letter changes (add, drop, replace, swap neighbours) turn `from` into `to`. */
function distance(from: string, to: string): number {
  let before: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1];
      row[j] = Math.min(row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (!same && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1])
        row[j] = Math.min(row[j]!, before[j - 2]! + 1);
    }
    [before, last] = [last, row];
  }
  return last[to.length]!;
}

/** What was probably meant by a word that nothing is called: one typing slip for every three letters is forgiven. */
export function suggest(word: string, known: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(word.length / 3));
  const [best] = known
    .map((name) => ({ name, away: distance(word, name) }))
    .toSorted((a, b) => a.away - b.away || a.name.localeCompare(b.name));
  return best && best.away <= limit ? best.name : undefined;
}
