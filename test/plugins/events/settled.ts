import { expect, vi } from 'vitest';
import type { TestForum } from 'parley-forum/testing';

/** Resolves when all emitted actions are in the event log. */
export const settled = ({ app }: TestForum): Promise<void> =>
  vi.waitFor(
    async () => {
      expect((await app.jobs.report()).filter(({ listener }) => listener.startsWith('events/'))).toEqual([]);
    },
    { timeout: 10_000, interval: 10 },
  );
