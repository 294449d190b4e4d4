import type { Check } from './check.ts';
import { countLines, readFiles } from './files.ts';

/** Lines a file may have; 60 is normal and 180 long. */
const LIMIT = 300;
/** Lines of a plugin.ts, which reads like a table of contents. */
const CONTENTS = 120;

/** Files stay short enough to be taken in at once. */
export const size: Check = {
  name: 'file size',
  async run(root) {
    return readFiles(root, ['core', 'plugins', 'themes', 'config', 'test'], /\.ts$/).flatMap(({ path, text }) => {
      const limit = /^plugins\/[^/]+\/plugin\.ts$/.test(path) ? CONTENTS : LIMIT;
      const lines = countLines(text);
      return lines <= limit ? [] : [`${path}: ${lines} lines, more than ${limit}; split it by subject`];
    });
  },
};
