import { spawnSync } from 'node:child_process';
import module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The oldest Node that this program runs on. */
const NEEDED = 24;

/**
 * Where the Node that runs is too old, runs the same command line with the one that was installed beside the program,
 * and ends with its exit code. Otherwise has later starts read compiled code instead of compiling again. To be imported
 * before anything else, and to import nothing that an old Node cannot read.
 */
export function useNode(): void {
  if (Number(process.versions.node.split('.')[0]) >= NEEDED) return void module.enableCompileCache();
  const { status } = spawnSync(installedNode(), process.argv.slice(1), { stdio: 'inherit' });
  process.exit(status ?? 1);
}

function installedNode(): string {
  const name = `node-${process.platform}-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'bin/node');
  } catch {
    process.stderr.write(
      `This needs Node ${NEEDED} or later, and runs on ${process.versions.node}; install a newer one.\n`,
    );
    process.exit(1);
  }
}
