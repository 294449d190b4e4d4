import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { resolve } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };

const START = manifest.scripts.start.split(' ');
/** The flags and the environment of `npm start`, read from where they stand. */
export const START_FLAGS: readonly string[] = START.filter((word) => word.startsWith('--'));
export const START_ENVIRONMENT: Readonly<Record<string, string>> = Object.fromEntries(
  START.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.split('=')),
);

export interface Child extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** Sends a message and resolves to the next answer. */
  ask<T>(message: object): Promise<T>;
  /** As `memoryOf`. */
  memory(): Promise<number>;
}

/**
 * Starts a module of this folder as a process of its own; resolves once it listens. Compiled code is kept and young
 * objects get little room, as `npm start` does.
 */
export async function startChild(module: string, environment: Readonly<Record<string, string>> = {}): Promise<Child> {
  const child: ChildProcess = fork(resolve(import.meta.dirname, module), [], {
    env: { ...process.env, ...START_ENVIRONMENT, NODE_ENV: 'production', ...environment },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [...START_FLAGS],
  });
  const [{ port }] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error(`${module} ended before it listened`))),
  ])) as [{ port: number }];
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid!,
    async ask<T>(message: object): Promise<T> {
      const answer = once(child, 'message');
      child.send(message);
      return ((await answer) as [T])[0];
    },
    memory: () => memoryOf(child.pid!),
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** Resident memory of a process in MiB, as the system counts it. */
export async function memoryOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

/** In the child: listens on a free port and tells the parent which. */
export async function listenAndReport(listen: (port: number, ready: () => void) => Server): Promise<void> {
  const { promise, resolve: ready } = Promise.withResolvers<void>();
  const server = listen(0, ready);
  await promise;
  process.send?.({ port: (server.address() as { port: number }).port });
  endWithParent();
}

/** In the child: ends when the parent asks for it, and with the parent, however that ends. */
export function endWithParent(close: () => Promise<void> = () => Promise.resolve()): void {
  for (const event of ['SIGTERM', 'disconnect']) process.once(event, () => void close().finally(() => process.exit(0)));
}
