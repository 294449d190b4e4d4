import type { Check } from './check.ts';
import { countLines, readFiles } from './files.ts';

/** Lines the kernel may have, comments and blank lines included. */
const BUDGET = 2_500;

/** The kernel stays small enough to be read in an afternoon; the runner of commands in core/cli/ is apart from it. */
export const budget: Check = {
  name: 'kernel budget',
  async run(root) {
    const lines = readFiles(root, ['core'], /^core\/[^/]+\.ts$/).reduce((sum, { text }) => sum + countLines(text), 0);
    if (lines <= BUDGET) return [];
    return [`core/: ${lines} lines, ${lines - BUDGET} above the budget of ${BUDGET}; move what only some plugins need into a plugin`];
  },
};
