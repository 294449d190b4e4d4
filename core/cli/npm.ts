import { execFile } from 'node:child_process';
import { ConfigurationError } from '../errors.ts';
import type { Console } from './command.ts';

/** Timeout of npm in milliseconds. */
const TIMEOUT = 600_000;
/** Number of lines of npm's output shown on failure. */
const SHOWN = 12;

/** Runs npm in a folder and resolves to its output. If it fails, throws a `ConfigurationError` with its last lines. */
export function npm(folder: string, args: readonly string[], console: Pick<Console, 'progress'>): Promise<string> {
  console.progress(`npm ${args.join(' ')}`);
  return new Promise((resolve, reject) => {
    execFile(
      'npm',
      [...args, '--no-fund', '--no-audit', '--loglevel=error'],
      { cwd: folder, timeout: TIMEOUT, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (!error) return resolve(stdout);
        const said = `${stderr}${stdout}`.trim().split('\n').slice(-SHOWN).join('\n');
        reject(new ConfigurationError(`npm ${args.join(' ')} failed in ${folder}:\n${said}`, { cause: error }));
      },
    );
  });
}
