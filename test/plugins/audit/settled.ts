import { expect, vi } from 'vitest';
import type { TestForum } from 'parley-forum/testing';

/** Resolves when everything raised is in the audit log, including what goes through the moderation log. */
export const settled = ({ app }: TestForum): Promise<void> =>
  vi.waitFor(
    async () => {
      expect((await app.jobs.report()).filter(({ listener }) => /^(audit|moderation)\//.test(listener))).toEqual([]);
    },
    { timeout: 10_000, interval: 10 },
  );
