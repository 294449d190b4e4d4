import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface Load {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** With bodies, POST is sent, one after the other in turn. */
  readonly bodies?: readonly string[];
  /** Seconds. */
  readonly seconds: number;
}

export interface Measured {
  readonly perSecond: number;
  /** Answers that were not 2xx or 3xx. */
  readonly errors: number;
}

export const CONNECTIONS = 32;
const run = promisify(execFile);
const wrk = ['/usr/bin/wrk', '/usr/local/bin/wrk'].find(existsSync);
export const generator = wrk ? 'wrk' : 'autocannon';

/** Requests per second from a process of its own over 32 connections. */
export async function load(job: Load): Promise<Measured> {
  const result = wrk ? await withWrk(wrk, job) : await withAutocannon(job);
  if (result.errors > 0)
    throw new Error(`${job.url}: ${result.errors} answers were errors, so the figure would mean nothing`);
  return result;
}

async function withWrk(program: string, { url, headers = {}, bodies, seconds }: Load): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'));
  try {
    const script = join(folder, 'load.lua');
    await writeFile(script, lua(headers, bodies));
    const { stdout } = await run(program, ['-t1', `-c${CONNECTIONS}`, `-d${Math.ceil(seconds)}s`, '-s', script, url], {
      maxBuffer: 1 << 24,
    });
    const errors = Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0);
    return { perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1] ?? 0), errors };
  } finally {
    await rm(folder, { recursive: true });
  }
}

function lua(headers: Readonly<Record<string, string>>, bodies: readonly string[] | undefined): string {
  const text = (value: string): string => `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  const lines = Object.entries(headers).map(([name, value]) => `wrk.headers[${text(name)}] = ${text(value)}`);
  if (!bodies) return lines.join('\n');
  return [
    ...lines,
    'wrk.method = "POST"',
    `local bodies = { ${bodies.map(text).join(', ')} }`,
    'local at = 0',
    'request = function() at = at % #bodies + 1; return wrk.format(nil, nil, nil, bodies[at]) end',
  ].join('\n');
}

async function withAutocannon({ url, headers = {}, bodies, seconds }: Load): Promise<Measured> {
  const program = join(import.meta.dirname, '../../node_modules/autocannon/autocannon.js');
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'));
  try {
    const options = [
      '-j',
      '-c',
      String(CONNECTIONS),
      '-d',
      String(Math.ceil(seconds)),
      ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}=${value}`]),
    ];
    const [body] = bodies ?? [];
    if (body !== undefined) options.push('-m', 'POST', '-b', body);
    const { stdout } = await run(process.execPath, [program, ...options, url], { maxBuffer: 1 << 24 });
    const { requests, non2xx, errors } = JSON.parse(stdout) as {
      requests: { average: number };
      non2xx: number;
      errors: number;
    };
    return { perSecond: requests.average, errors: non2xx + errors };
  } finally {
    await rm(folder, { recursive: true });
  }
}
