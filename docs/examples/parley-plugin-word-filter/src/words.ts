/** Matches the words where no letter or digit stands next to them; undefined where there are none to look for. */
function patternOf(words: readonly string[]): RegExp | undefined {
  if (words.length === 0) return undefined;
  // Longer ones first, so that a phrase is found before a word that begins it.
  const choices = words.toSorted((one, other) => other.length - one.length).map((word) => RegExp.escape(word));
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${choices.join('|')})(?![\\p{L}\\p{N}])`, 'giu');
}

/** Which of the words are in a text, each once, in lower case. */
export function findWords(text: string, words: readonly string[]): readonly string[] {
  const pattern = patternOf(words);
  return pattern ? [...new Set(text.match(pattern)?.map((word) => word.toLowerCase()))] : [];
}

/** The text with a dot for each letter of the words; asterisks would be Markdown. */
export function maskWords(text: string, words: readonly string[]): string {
  const pattern = patternOf(words);
  return pattern ? text.replace(pattern, (word) => '•'.repeat([...word].length)) : text;
}
