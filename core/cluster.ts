import { chainOf } from './errors.ts';
import type { Logger } from './logger.ts';
import { defineToken } from './ref.ts';

/** `undefined` means: something may have been missed, look at everything again. */
type Listener = (payload: object | undefined) => unknown;
type Send = (subject: string, payload?: object) => Promise<void>;

/** The processes that share one database. A process is alone until a plugin carries what is said to the others. */
export interface Fleet {
  /** Calls the listeners of `subject` (a word) in every other process; resolves when they have run. Never rejects. */
  announce: Send;
  /** What `run` throws is logged. The sender waits for its promise. Returns how to stop. */
  listen(subject: string, run: Listener): () => void;
  /**
   * For the carrier: calls this process's listeners, of one subject or, where something may have been missed, of all.
   * They start before this returns, so what they drop at once is gone before anything else is served.
   */
  follow(subject?: string, payload?: object): Promise<void>;
  /** From here on `send` carries announcements. Returns how to stop. */
  carry(send: Send): () => void;
}
export const Fleet = defineToken<Fleet>('Fleet');

export function createFleet(log: Logger): Fleet {
  const listeners = new Map<Listener, string>();
  let carrier: Send | undefined;
  return {
    announce: async (subject, payload) => carrier?.(subject, payload),
    listen(subject, run) {
      const own: Listener = (payload) => run(payload);
      listeners.set(own, subject);
      return () => void listeners.delete(own);
    },
    async follow(subject, payload) {
      const called = [...listeners].filter(([, other]) => subject === undefined || other === subject);
      for (const result of await Promise.allSettled(called.map(async ([run]) => run(payload)))) {
        if (result.status === 'rejected')
          log.error({ subject, error: chainOf(result.reason) }, 'could not follow an announcement');
      }
    },
    carry(send) {
      carrier = send;
      return () => void (carrier = undefined);
    },
  };
}
