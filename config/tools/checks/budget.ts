import type { Check } from './check.ts';
import { countLines, readFiles } from './files.ts';

/** Lines of TypeScript the kernel may have; the runner of commands in core/cli/ is not counted. */
const BUDGET = 2_500;

/** The kernel stays small enough to be read in an afternoon. */
export const budget: Check = {
  name: 'kernel budget',
  async run(root) {
    const files = readFiles(root, ['core'], /^core\/[^/]+\.ts$/);
    const lines = files.reduce((sum, { text }) => sum + countLines(text), 0);
    if (lines <= BUDGET) return [];
    return [`core/: ${lines} lines, ${lines - BUDGET} above the budget of ${BUDGET}; move what only some plugins need into a plugin`];
  },
};
