import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigurationError } from '../errors.ts';

/** Timeout of the compiler in milliseconds. */
const TIMEOUT = 300_000;

/**
 * Runs the TypeScript compiler installed in a folder on one of its projects; resolves to its error lines, none if it
 * succeeds.
 */
export function compile(folder: string, project: string, ...flags: readonly string[]): Promise<readonly string[]> {
  const script = compilerOf(folder);
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [script, '--pretty', 'false', ...flags, '-p', project],
      { cwd: folder, timeout: TIMEOUT, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        const lines = `${stdout}${stderr}`.split('\n').filter((line) => line.trim() !== '');
        resolve(error && lines.length === 0 ? [error.message] : error ? lines : []);
      },
    );
  });
}

function compilerOf(folder: string): string {
  try {
    const manifest = createRequire(pathToFileURL(join(folder, 'package.json'))).resolve('typescript/package.json');
    return join(dirname(manifest), 'bin/tsc');
  } catch (error) {
    throw new ConfigurationError(`TypeScript is not installed in ${folder}; run: npm install --save-dev typescript`, {
      cause: error,
    });
  }
}
