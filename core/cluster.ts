import { chainOf } from './errors.ts';
import type { Logger } from './logger.ts';
import { defineToken } from './ref.ts';

/** `undefined` means: something may have been missed, look at everything again. */
type Listener = (payload: object | undefined) => unknown;
type Send = (subject: string, payload?: object) => Promise<void>;

/** The processes that share one database. A process is alone until a plugin provides a transport. */
export interface Cluster {
  /** Calls the listeners of `subject` (a word) in every other process; resolves when they have run. Never rejects. */
  publish: Send;
  /** What `run` throws is logged. The sender waits for its promise. Returns how to stop. */
  subscribe(subject: string, run: Listener): () => void;
  /**
   * For the transport: calls this process's listeners, of one subject or, where something may have been missed, of all.
   * They start before this returns, so what they drop at once is gone before anything else is served.
   */
  deliver(subject?: string, payload?: object): Promise<void>;
  /** From here on messages are sent with `send`. Returns how to stop. */
  useTransport(send: Send): () => void;
}
export const Cluster = defineToken<Cluster>('Cluster');

export function createCluster(log: Logger): Cluster {
  const listeners = new Map<Listener, string>();
  let transport: Send | undefined;
  return {
    publish: async (subject, payload) => transport?.(subject, payload),
    subscribe(subject, run) {
      const own: Listener = (payload) => run(payload);
      listeners.set(own, subject);
      return () => void listeners.delete(own);
    },
    async deliver(subject, payload) {
      const called = [...listeners].filter(([, other]) => subject === undefined || other === subject);
      for (const result of await Promise.allSettled(called.map(async ([run]) => run(payload)))) {
        if (result.status === 'rejected')
          log.error(
            { subject, error: chainOf(result.reason) },
            'a message from another process could not be delivered',
          );
      }
    },
    useTransport(send) {
      transport = send;
      return () => void (transport = undefined);
    },
  };
}
