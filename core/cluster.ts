import { chainOf } from './errors.ts';
import type { Logger } from './logger.ts';
import { defineToken } from './ref.ts';

/** An `undefined` payload means that messages may have been missed: the listener should re-check everything. */
type Listener = (payload: object | undefined) => unknown;
type Send = (subject: string, payload?: object) => Promise<void>;

/** The processes that share one database. Until a plugin provides a transport, the process is on its own. */
export interface Cluster {
  /**
   * Calls the listeners of `subject` (a single word) in every other process; resolves when they have finished. Never
   * rejects.
   */
  publish: Send;
  /**
   * The publisher waits for the promise that `run` returns; errors are logged. Returns a function that unsubscribes.
   */
  subscribe(subject: string, run: Listener): () => void;
  /**
   * For the transport: calls this process's listeners of `subject` or, without one because messages may have been
   * missed, all of them. They start before this returns, so whatever they drop synchronously is gone before the next
   * request is served.
   */
  deliver(subject?: string, payload?: object): Promise<void>;
  /** Sends messages through `send` from now on. Returns a function that removes the transport. */
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
