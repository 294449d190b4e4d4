import { readFileSync } from 'node:fs';

// Loaded before the program (`node --import`): what the process takes for the time is moved by as many milliseconds as
// the file says that CLOCK_FILE names. It is read again at SIGUSR2.
const file = process.env['CLOCK_FILE']!;
const TrueDate = Date;
let moved = 0;

class MovedDate extends TrueDate {
  constructor(...values: []) {
    super(...(values.length > 0 ? values : ([TrueDate.now() + moved] as unknown as [])));
  }

  static override now(): number {
    return TrueDate.now() + moved;
  }
}

const read = (): void => void (moved = Number(readFileSync(file, 'utf8')));
read();
process.on('SIGUSR2', read);
globalThis.Date = MovedDate as DateConstructor;
