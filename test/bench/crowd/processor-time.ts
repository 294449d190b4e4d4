import { readdir, readFile } from 'node:fs/promises';

/** Milliseconds of one of the units in which Linux counts. */
const TICK = 10;

/** Milliseconds of processor time that a process has had; 0 for one that is gone. */
async function timeOf(pid: number | string): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // Its name, in brackets, may have spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * TICK;
}

/** The same of several together. */
export async function processorTime(pids: readonly (number | string)[]): Promise<number> {
  return (await Promise.all(pids.map(timeOf))).reduce((sum, time) => sum + time, 0);
}

/**
 * PostgreSQL's processes that serve connections to this database, by what they call themselves; those that write for
 * all databases are nobody's. None where it runs on another machine.
 */
export async function backendsOf(databaseUrl: string): Promise<readonly string[]> {
  const database = new URL(databaseUrl).pathname.slice(1);
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const titles = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return pids.filter((_, at) => titles[at]!.startsWith('postgres: ') && titles[at]!.includes(` ${database} `));
}
