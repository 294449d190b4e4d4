import { messageOf } from '../errors.ts';
import { readEnvironment } from '../host/site.ts';
import { terminalConsole } from './console.ts';
import { delegate } from './socket/client.ts';

/**
 * Runs one command from a shell and resolves to the exit code of the process. If a server is running on the same data,
 * the server runs the command and the program is not even loaded here; otherwise the data is opened for the duration of
 * the command. Failures are printed as one line on standard error, with the stack if PARLEY_DEBUG=1; set LOG_LEVEL to
 * see the server's log lines.
 */
export async function main(words: readonly string[]): Promise<number> {
  const console = terminalConsole();
  // The reader of the output, such as `head`, may close the pipe early.
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
