import type { Check } from './support/check.ts';
import { readPaths } from './support/files.ts';

/** Maximum number of code files in a folder that a reader can take in at a glance. */
const MAX_FILES = 15;

/** A folder should cover one subject; one with more files than this covers several. */
export const folders: Check = {
  name: 'folders',
  async run(root) {
    const code = readPaths(root, ['core', 'plugins', 'config', 'themes']).filter((path) => path.endsWith('.ts'));
    return [...Map.groupBy(code, (path) => path.slice(0, path.lastIndexOf('/')))]
      .filter(([, files]) => files.length > MAX_FILES)
      .map(
        ([folder, { length }]) =>
          `${folder}: has ${length} source files, more than ${MAX_FILES}; split it into folders by subject`,
      );
  },
};
