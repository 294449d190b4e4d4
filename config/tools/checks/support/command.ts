import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';

/** The result of a finished program. */
export interface Outcome {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

/** Where the tools are installed: always in this project, even when another tree is checked. */
const MODULES = resolve(import.meta.dirname, '../../../../node_modules');

/**
 * Runs the script of an installed tool, given by its path in node_modules, in `folder` with the current Node
 * executable. Never throws because of its exit code.
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
