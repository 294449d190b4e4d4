import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { ConfigurationError } from '../errors.ts';
import type { Console } from './command.ts';

/** Escape sequence that returns to the start of the line and clears it. */
const CLEAR = '\r\x1b[2K';

/** A console that can be closed: `close` clears the last progress line. */
export interface OpenConsole extends Console {
  close(): void;
}

/** The console of this process. Progress is shown on terminals only. */
export function terminalConsole(
  stream: NodeJS.WriteStream = process.stdout,
  input: NodeJS.ReadStream = process.stdin,
): OpenConsole {
  const terminal = stream.isTTY === true;
  const columns = stream.columns || 80;
  let shown = false;
  const wipe = (): void => {
    if (shown) stream.write(CLEAR);
    shown = false;
  };
  return {
    terminal,
    columns,
    print(line) {
      wipe();
      stream.write(`${line}\n`);
    },
    progress(line) {
      if (!terminal) return;
      stream.write(`${CLEAR}${line.slice(0, columns - 1)}`);
      shown = true;
    },
    async secret(label, piped) {
      if (!input.isTTY) return piped ? firstLine(input) : undefined;
      wipe();
      const typed = await hiddenLine(label, stream, input);
      if ((await hiddenLine(`${label} again`, stream, input)) !== typed)
        throw new ConfigurationError('The two entries do not match; nothing was done');
      return typed;
    },
    close: wipe,
  };
}

async function firstLine(input: NodeJS.ReadStream): Promise<string | undefined> {
  for await (const line of createInterface({ input })) return line;
  return undefined;
}

/** The input is echoed to a stream that shows nothing. */
function hiddenLine(label: string, stream: NodeJS.WriteStream, input: NodeJS.ReadStream): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input, output: nowhere, terminal: true });
  stream.write(`${label}: `);
  return new Promise((resolve, reject) => {
    reader.on('SIGINT', () => reader.close());
    reader.on('close', () => {
      stream.write('\n');
      reject(new ConfigurationError('Nothing was entered; nothing was done'));
    });
    reader.question('', (line) => {
      resolve(line);
      reader.close();
    });
  });
}
