import { spawnSync } from 'node:child_process';
import module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The oldest supported version of Node. */
const NEEDED = 24;

/**
 * If the running Node is too old, runs the same command line with the Node that is installed beside the program, and
 * exits with its exit code. Otherwise enables the compile cache for later starts. Must be imported before anything
 * else, and must not import anything that an old Node cannot parse.
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
      `Node ${NEEDED} or later is required, but this is ${process.versions.node}; install a newer one.\n`,
    );
    process.exit(1);
  }
}
