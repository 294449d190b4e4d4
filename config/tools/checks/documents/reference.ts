import type { Check } from '../support/check.ts';
import { readFiles } from '../support/files.ts';

type Generate = (root: string) => Promise<ReadonlyMap<string, string>>;

// Imported lazily: if the kernel fails to load, the other checks must still be able to report why.
const fromRunningApp: Generate = async (root) => (await import('../../reference.ts')).generateReference(root);

/**
 * docs/reference and the architecture diagram must match the code. Tests of this check pass a generator of their own.
 */
export const reference = (generate: Generate = fromRunningApp): Check => ({
  name: 'generated reference',
  async run(root) {
    const wanted = await generate(root);
    const found = new Map(
      readFiles(root, ['docs'], /^docs\/(reference\/.+|architecture)\.md$/).map(({ path, text }) => [path, text]),
    );
    const paths = [...new Set([...wanted.keys(), ...found.keys()])].sort();
    return paths.flatMap((path) => {
      if (wanted.get(path) === found.get(path)) return [];
      if (!wanted.has(path)) return [`${path}: is not generated; delete it or move it to docs/guide`];
      return [`${path}: ${found.has(path) ? 'is out of date' : 'is missing'}; run npm run check -- --write`];
    });
  },
});
