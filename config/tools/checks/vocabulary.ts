import type { Check } from './support/check.ts';
import { readFiles } from './support/files.ts';

/**
 * Words specific to this application. "post" is also a request method, so it only counts where it is clearly a noun.
 */
const WORDS = [
  /\b(?:forum|discussion|topic|thread|repl(?:y|ies)|categor(?:y|ies)|moderator|member|avatar)s?\b/gi,
  /\b(?:(?:a|an|the|this|that|each|every|one|new) post|posts)\b(?!:)/g,
];

/**
 * Allowed names that contain such a word: the configuration, the package, its test kit, the module that browsers
 * import, and the permission for members.
 */
const NAMES = /@forum\/client|\bconfig\/forum\b|parley-forum|\b(?:start|Test)Forum\b|[`']member[`']/g;

/**
 * The kernel must not know what it is used for: it could equally run a to-do list. Applies to names, texts, comments
 * and templates.
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
              `${path}:${index + 1}: "${word}" is a word of one application; rephrase it, or move it into a plugin`,
          ),
        ),
    );
  },
};

/** Splits camelCase names into words first, such as `replyCount`. */
function wordsOf(line: string): readonly string[] {
  const prose = line
    .replace(NAMES, '')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ');
  return WORDS.flatMap((pattern) => [...prose.matchAll(pattern)].map(([word]) => word));
}
