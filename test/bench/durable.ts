import { startChild } from './child.ts';
import type { Result } from './report.ts';

export interface DurableFigures {
  /** Transactions per second that raise an action nobody hears durably, and with two durable listeners. */
  readonly without: number;
  readonly with: number;
  /** Milliseconds from commit to start, the median. */
  readonly start: number;
}

/** What durable listeners cost the transaction that raises their action, and how soon they start. */
export async function measureDurable(environment: Readonly<Record<string, string>>, seconds: number): Promise<readonly Result[]> {
  await using child = await startChild('durable-child.ts', environment);
  const figures = await child.ask<DurableFigures>({ seconds });
  return [
    { name: 'storing the work of two durable listeners', value: figures.with, unit: 'transactions/s', ratio: 1 - figures.with / figures.without, goal: 0.35, atMost: true },
    { name: 'commit to start of a durable listener, median', value: figures.start, unit: 'ms', ratio: undefined, goal: 10, atMost: true },
  ];
}
