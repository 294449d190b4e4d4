import type { IncomingMessage } from 'node:http';
import type { TrustedProxies } from './address.ts';
import { defineToken } from './ref.ts';

/** What the connection tells about a request, seen through the trusted proxies. */
export interface Http {
  /** The client's address; forwarded headers count only from trusted proxies. */
  addressOf(req: IncomingMessage): string;
  /** True when the client speaks https, to us or to a trusted proxy. */
  secure(req: IncomingMessage): boolean;
  /** Identifies the request in logs and error answers. */
  idOf(req: IncomingMessage): string;
  /** Aborts when the server starts to stop: answers that would go on for ever end themselves then, all others are waited for. */
  readonly closing: AbortSignal;
}
export const Http = defineToken<Http>('Http');

const ids = new WeakMap<IncomingMessage, string>();
const PROCESS = crypto.randomUUID().slice(0, 8);
let counter = 0;

export const createHttp = (proxies: TrustedProxies, closing: AbortSignal): Http => ({
  closing,
  addressOf: (req) => proxies.addressOf(req),
  secure: (req) => proxies.secure(req),
  /** Unique over processes, cheap to make: the process's random part and a count. */
  idOf(req) {
    let id = ids.get(req);
    if (!id) ids.set(req, (id = `${PROCESS}-${(++counter).toString(36)}`));
    return id;
  },
});
