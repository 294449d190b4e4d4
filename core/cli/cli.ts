import { messageOf } from '../errors.ts';
import { readEnvironment } from '../host/site.ts';
import { terminalConsole } from './console.ts';
import { delegate } from './socket/client.ts';

/**
 * One command from a shell; resolves to the process's exit code. A server that runs on the same data carries it out,
 * and the program is not even loaded here; else the data is opened for as long as it takes. Failures are one line on
 * standard error, with the stack where PARLEY_DEBUG=1; LOG_LEVEL brings the server's log lines back.
 */
export async function main(words: readonly string[]): Promise<number> {
  const console = terminalConsole();
  // Whatever reads the output, such as `head`, may have seen enough.
  process.stdout.on('error', () => process.exit(0));
  try {
    const { dataDir } = await readEnvironment();
    const { terminal, columns } = console;
    if (!(await delegate(dataDir, { argv: words, terminal, columns }, console))) {
      await (await import('../host/preload.ts')).preload();
      await (await import('./run-alone.ts')).runAlone(words, console);
    }
    return 0;
  } catch (error) {
    console.close();
    process.stderr.write(
      `${process.env['PARLEY_DEBUG'] === '1' && error instanceof Error ? error.stack : messageOf(error)}\n`,
    );
    return 1;
  } finally {
    console.close();
  }
}
