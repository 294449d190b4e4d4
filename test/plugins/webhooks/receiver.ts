import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { once } from 'node:events';
import { Webhook } from 'standardwebhooks';

/** A received request. */
export interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly body: any;
  /** `performance.now()` when it had arrived. */
  readonly at: number;
}
/** The response of a receiver; without a status it never responds. */
interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds to wait before responding. */
  readonly after?: number;
}
/** Another service on localhost, on its own port. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly received: Received[];
  reply: Reply | ((request: Received, count: number) => Reply);
  /** The number of open requests, and its maximum so far. */
  readonly open: { now: number; most: number };
}

const flat = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

export async function startReceiver(reply: Receiver['reply'] = { status: 204 }): Promise<Receiver> {
  const received: Received[] = [];
  const open = { now: 0, most: 0 };
  const server: Server = createServer(async (req, res) => {
    open.most = Math.max(open.most, ++open.now);
    res.on('close', () => void open.now--);
    let text = '';
    for await (const chunk of req) text += String(chunk);
    const request: Received = {
      path: req.url ?? '',
      headers: flat(req.headers),
      text,
      body: JSON.parse(text),
      at: performance.now(),
    };
    received.push(request);
    const {
      status,
      headers = {},
      body = '',
      after = 0,
    } = typeof receiver.reply === 'function' ? receiver.reply(request, received.length) : receiver.reply;
    if (after > 0) await new Promise((resolve) => setTimeout(resolve, after));
    if (status !== undefined) res.writeHead(status, headers).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}/hook`,
    received,
    reply,
    open,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close').catch(() => undefined);
    },
  };
  return receiver;
}

/** Throws unless the published library accepts the request. */
export const verify = (secret: string, { text, headers }: Received): unknown =>
  new Webhook(secret).verify(text, headers as Record<string, string>);
