import { defineCommand } from '../command.ts';
import { counters, differences } from '../../data/counters.ts';
import { ConfigurationError } from '../../errors.ts';
import { Type } from '../../schema.ts';
import { Program } from '../program.ts';

/** Maximum number of lines shown per counter. */
const SHOWN = 20;

/** With `--check`, differences make the command fail, so that monitoring can detect them. */
export const recount = defineCommand({
  name: 'recount',
  summary: 'Compares all stored counts with what they count, and corrects them.',
  example: 'recount --check',
  options: Type.Object({
    check: Type.Boolean({ default: false, title: 'Only compare; fails if anything differs' }),
  }),
  needs: { app: Program },
  async run({ app }, { check }, console) {
    let total = 0;
    for (const { value: counter } of app.extensions.read(counters)) {
      const found = await walk(counter, check, (line) => console.print(`${counter.name}: ${line}`));
      console.print(`${counter.name}: ${found === 0 ? 'correct' : `${found} ${check ? 'differ' : 'corrected'}`}`);
      total += found;
    }
    if (check && total > 0)
      throw new ConfigurationError(
        `${total} ${total === 1 ? 'stored count differs' : 'stored counts differ'} from the data; run recount without --check to correct this`,
      );
  },
});

async function walk(
  counter: Parameters<typeof differences>[0],
  check: boolean,
  show: (line: string) => void,
): Promise<number> {
  let found = 0;
  for await (const { keys, lines } of differences(counter)) {
    lines.slice(0, Math.max(0, SHOWN - found)).forEach(show);
    found += lines.length;
    if (lines.length > 0 && !check) await counter.repair(keys);
  }
  return found;
}
