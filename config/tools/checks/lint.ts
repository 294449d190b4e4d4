import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Check } from './support/check.ts';
import { runTool } from './support/command.ts';

/** The part of oxlint's report that is used here. */
interface Report {
  readonly diagnostics: ReadonlyArray<{
    readonly message: string;
    readonly code?: string;
    readonly severity: string;
    readonly help?: string;
    readonly filename: string;
    readonly labels: ReadonlyArray<{ readonly span: { readonly line: number } }>;
  }>;
}

const FOLDERS = ['core', 'plugins', 'themes', 'migrations', 'config', 'test', 'docs/examples'];

/** Runs oxlint with the rules of .oxlintrc.json, including those that need types. Warnings do not fail the check. */
export const lint: Check = {
  name: 'lint',
  async run(root) {
    const folders = FOLDERS.filter((folder) => existsSync(join(root, folder)));
    const { output, errors } = await runTool(
      'oxlint/bin/oxlint',
      ['--type-aware', '--format', 'json', '--config', '.oxlintrc.json', ...folders],
      root,
    );
    if (!output.trimStart().startsWith('{')) return [`oxlint did not run: ${`${errors}${output}`.trim()}`];
    const { diagnostics } = JSON.parse(output) as Report;
    return diagnostics
      .filter(({ severity }) => severity === 'error')
      .map(
        ({ filename, labels, message, code, help }) =>
          `${filename}:${labels[0]?.span.line ?? 1}: ${code ?? 'lint'}: ${message}${help ? ` (${help})` : ''}`,
      );
  },
};
