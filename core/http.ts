import type { IncomingMessage } from 'node:http';
import { defineToken } from './ref.ts';

/** Sees clients through proxies. Without a provider a request comes from whoever is connected. */
export interface Proxies {
  /** Who sent the request, spelled in one way. */
  addressOf(req: IncomingMessage): string;
  /** Whether the client's own connection was encrypted. */
  secure(req: IncomingMessage): boolean;
}
export const Proxies = defineToken<Proxies>('Proxies');

/** What is known of a request before anything of it is read. */
export interface Http extends Proxies {
  /** Identifies the request in logs and error answers. */
  idOf(req: IncomingMessage): string;
}
export const Http = defineToken<Http>('Http');

const ids = new WeakMap<IncomingMessage, string>();
const PROCESS = crypto.randomUUID().slice(0, 8);
let counter = 0;

export const createHttp = (proxies: () => Proxies | undefined): Http => ({
  // A server that listens for both kinds sees IPv4 inside IPv6.
  addressOf: (req) => proxies()?.addressOf(req) ?? req.socket.remoteAddress?.replace('::ffff:', '') ?? '0.0.0.0',
  secure: (req) => proxies()?.secure(req) ?? 'encrypted' in req.socket,
  /** Unique over processes, cheap to make: the process's random part and a count. */
  idOf(req) {
    let id = ids.get(req);
    if (!id) ids.set(req, (id = `${PROCESS}-${(++counter).toString(36)}`));
    return id;
  },
});
