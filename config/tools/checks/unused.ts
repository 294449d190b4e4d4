import type { Check } from './support/check.ts';
import { runTool } from './support/command.ts';

/** The issues that knip reports, and what to do about each. */
const KINDS = {
  files: 'is imported by nothing; delete it, or list it in config/tools/knip.jsonc if it is an entry point',
  dependencies: 'is in package.json and imported by nothing; npm uninstall it',
  devDependencies: 'is in package.json and imported by nothing; npm uninstall it',
  unlisted: 'is imported and not in package.json; npm install it',
  unresolved: 'is imported and does not exist',
  exports: 'is exported and imported by nothing; remove the export',
  types: 'is exported and imported by nothing; remove the export',
} as const;

/** The part of knip's report that is used here. */
interface Report {
  readonly issues: ReadonlyArray<
    { readonly file: string } & {
      readonly [kind in keyof typeof KINDS]?: ReadonlyArray<{ readonly name: string; readonly line?: number }>;
    }
  >;
}

/** There must be no unused files, exports or dependencies. Exports of the package count as used. */
export const unused: Check = {
  name: 'unused',
  async run(root) {
    const { output, errors } = await runTool(
      'knip/bin/knip.js',
      ['--config', 'config/tools/knip.jsonc', '--include', Object.keys(KINDS).join(','), '--reporter', 'json'],
      root,
    );
    if (!output.trimStart().startsWith('{')) return [`knip did not run: ${`${errors}${output}`.trim()}`];
    const { issues } = JSON.parse(output) as Report;
    return issues
      .flatMap(({ file, ...found }) =>
        Object.entries(KINDS).flatMap(([kind, remedy]) =>
          (found[kind as keyof typeof KINDS] ?? []).map(({ name, line = 1 }) =>
            name === file ? `${file}: ${remedy}` : `${file}:${line}: ${name} ${remedy}`,
          ),
        ),
      )
      .toSorted();
  },
};
