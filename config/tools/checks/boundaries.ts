import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Check } from './support/check.ts';
import { runTool } from './support/command.ts';

/** The part of dependency-cruiser's report that is used here. */
interface Report {
  readonly summary: {
    readonly totalCruised: number;
    readonly violations: ReadonlyArray<{
      readonly from: string;
      readonly to: string;
      readonly rule: { readonly name: string };
      readonly comment?: string;
      readonly cycle?: readonly { readonly name: string }[];
    }>;
  };
}

const FOLDERS = ['core', 'plugins', 'themes', 'migrations', 'config', 'test'];

/**
 * Imports must stay within the boundaries of .dependency-cruiser.mjs. Fewer modules than `least` mean that the tool
 * failed to parse them, in which case everything would pass.
 */
export const boundaries = (least = 21): Check => ({
  name: 'boundaries',
  async run(root) {
    const folders = FOLDERS.filter((folder) => existsSync(join(root, folder)));
    const { output, errors } = await runTool(
      'dependency-cruiser/bin/dependency-cruiser.mjs',
      ['--config', '.dependency-cruiser.mjs', '--output-type', 'json', ...folders],
      root,
    );
    if (!output.startsWith('{')) return [`dependency-cruiser did not run: ${errors.trim()}`];
    const { totalCruised, violations } = (JSON.parse(output) as Report).summary;
    const blind =
      totalCruised < least
        ? [
            `dependency-cruiser saw ${totalCruised} modules, fewer than ${least}: it could not read the tree; is typescript@6 installed?`,
          ]
        : [];
    return [
      ...blind,
      ...violations.map(
        ({ from, to, rule, comment, cycle }) =>
          `${from} → ${cycle ? cycle.map(({ name }) => name).join(' → ') : to}: ${rule.name}${comment ? `: ${comment}` : ''}`,
      ),
    ];
  },
});
