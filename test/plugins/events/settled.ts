import { expect, vi } from 'vitest';
import type { TestApp } from 'parley-forum/testing';

/** Resolves when all that was raised is in the event log. */
export const settled = ({ app }: TestApp): Promise<void> =>
  vi.waitFor(
    async () => {
      expect((await app.jobs.report()).filter(({ listener }) => listener.startsWith('events/'))).toEqual([]);
    },
    { timeout: 10_000, interval: 10 },
  );
