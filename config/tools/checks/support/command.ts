import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';

/** What a finished program left behind. */
export interface Outcome {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

/** Where the tools are installed: this project's, also when another tree is checked. */
const MODULES = resolve(import.meta.dirname, '../../../../node_modules');

/**
 * Runs an installed tool's script, named from node_modules, in `folder` with the Node that runs this; never throws for
 * its exit code.
 */
export function runTool(script: string, args: readonly string[], folder: string): Promise<Outcome> {
  return new Promise((resolveOutcome, reject) => {
    const child = spawn(process.execPath, [join(MODULES, script), ...args], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    child.on('error', reject);
    child.on('close', (code) => resolveOutcome({ code: code ?? 1, output, errors }));
  });
}
