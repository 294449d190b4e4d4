import { startChild } from './child.ts';
import type { Result } from './report.ts';

export interface DurableFigures {
  /** Transactions per second with two durable listeners, and what part of the rate they cost. */
  readonly stored: number;
  readonly cost: number;
  /** Works run in a second while 100,000 wait and nothing is vacuumed. */
  readonly drain: number;
  /** The same of works under one key, a thousand, and a key each: the slowest of them. */
  readonly drainByKey: number;
  /** Milliseconds from commit to start, the median. */
  readonly start: number;
}

/** What durable listeners cost the transaction that raises their action, and how soon they start. */
export async function measureDurable(
  environment: Readonly<Record<string, string>>,
  seconds: number,
): Promise<readonly Result[]> {
  await using child = await startChild('durable-child.ts', environment);
  const figures = await child.ask<DurableFigures>({ seconds });
  return [
    {
      name: 'storing the work of two durable listeners',
      value: figures.stored,
      unit: 'transactions/s',
      ratio: figures.cost,
      goal: 0.35,
      atMost: true,
    },
    {
      name: 'durable work run while 100,000 wait, autovacuum off',
      value: figures.drain,
      unit: 'works/s',
      ratio: undefined,
      goal: 1_000,
      atMost: false,
    },
    {
      name: 'durable work with keys run while 100,000 wait, autovacuum off',
      value: figures.drainByKey,
      unit: 'works/s',
      ratio: undefined,
      goal: 1_000,
      atMost: false,
    },
    {
      name: 'commit to start of a durable listener, median',
      value: figures.start,
      unit: 'ms',
      ratio: undefined,
      goal: 10,
      atMost: true,
    },
  ];
}
