import type { Check } from './support/check.ts';
import { readFiles } from './support/files.ts';

/** Words of this application. "post" is also a request method, so it counts only where it is plainly a thing. */
const WORDS = [
  /\b(?:forum|discussion|topic|thread|repl(?:y|ies)|categor(?:y|ies)|moderator|member|avatar)s?\b/gi,
  /\b(?:(?:a|an|the|this|that|each|every|one|new) post|posts)\b(?!:)/g,
];

/**
 * Names that hold such a word: of the configuration, of the package, of its test kit, of what browsers import, and of who
 * may call a route.
 */
const NAMES = /@forum\/client|\bconfig\/forum\b|parley-forum|\b(?:start|Test)Forum\b|[`']member[`']/g;

/**
 * The kernel does not know what it is used for: it would boot a to-do list as well. Names, texts, comments and
 * templates alike.
 */
export const vocabulary: Check = {
  name: 'vocabulary',
  async run(root) {
    return readFiles(root, ['core'], /\.(ts|txt|json|md|sql)$/).flatMap(({ path, text }) =>
      text
        .split('\n')
        .flatMap((line, index) =>
          wordsOf(line).map(
            (word) =>
              `${path}:${index + 1}: "${word}" is a word of one application; say it without, or move it into a plugin`,
          ),
        ),
    );
  },
};

/** Words in camelCase names are words too: `replyCount` is taken apart first. */
function wordsOf(line: string): readonly string[] {
  const prose = line
    .replace(NAMES, '')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ');
  return WORDS.flatMap((pattern) => [...prose.matchAll(pattern)].map(([word]) => word));
}
