import type { Console } from './command.ts';

/** Where a terminal's escape sequences begin the line anew and clear it. */
const CLEAR = '\r\x1b[2K';

/** A console that ends: `close` wipes the progress line that the last step left. */
export interface OpenConsole extends Console {
  close(): void;
}

/** The console of this process. Progress is shown on terminals only. */
export function terminalConsole(stream: NodeJS.WriteStream = process.stdout): OpenConsole {
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
    close: wipe,
  };
}
