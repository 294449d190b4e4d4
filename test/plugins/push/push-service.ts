import { createDecipheriv, createECDH, hkdfSync, randomBytes, type ECDH } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, beforeEach } from 'vitest';

/** A request that a push service received. */
export interface Pushed {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}
/** A push service on this machine. */
export interface PushService {
  readonly received: Pushed[];
  /** The responses to the next requests, in order; afterwards 201. */
  readonly replies: { readonly status: number; readonly headers?: Readonly<Record<string, string>> }[];
  /** A new browser, subscribed at this service. */
  browser(): PushBrowser;
}

/** Starts a push service; each test starts without requests. */
export function usePushService(): PushService {
  const received: Pushed[] = [];
  const replies: PushService['replies'] = [];
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    received.push({ path: req.url ?? '', headers: req.headers, body: Buffer.concat(chunks) });
    const { status, headers } = replies.shift() ?? { status: 201 };
    res.writeHead(status, headers).end();
  });
  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  beforeEach(() => {
    received.length = 0;
    replies.length = 0;
  });
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });
  const origin = (): string => `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  return { received, replies, browser: () => new PushBrowser(origin(), received) };
}

const text = (info: string): Buffer => Buffer.from(`${info}\0`);
const derive = (key: Uint8Array, salt: Uint8Array, info: Uint8Array, length: number): Buffer =>
  Buffer.from(hkdfSync('sha256', key, salt, info, length));

/** The part of a browser that subscribes and decrypts (RFC 8291). */
export class PushBrowser {
  readonly subscription: {
    readonly endpoint: string;
    readonly keys: { readonly p256dh: string; readonly auth: string };
  };
  readonly #received: readonly Pushed[];
  readonly #keys: ECDH = createECDH('prime256v1');
  readonly #auth = randomBytes(16);

  constructor(origin: string, received: readonly Pushed[]) {
    this.#received = received;
    const p256dh = this.#keys.generateKeys('base64url');
    const endpoint = `${origin}/send/${randomBytes(16).toString('base64url')}`;
    this.subscription = { endpoint, keys: { p256dh, auth: this.#auth.toString('base64url') } };
  }

  /** The requests to this browser so far. */
  get requests(): readonly Pushed[] {
    return this.#received.filter(({ path }) => this.subscription.endpoint.endsWith(path));
  }

  /** The messages that it can decrypt. */
  get messages(): readonly any[] {
    return this.requests.map(({ body }) => JSON.parse(this.#decrypt(body)));
  }

  #decrypt(body: Buffer): string {
    const [salt, idLength] = [body.subarray(0, 16), body[20]!];
    const sender = body.subarray(21, 21 + idLength);
    const info = Buffer.concat([text('WebPush: info'), this.#keys.getPublicKey(), sender]);
    const secret = derive(this.#keys.computeSecret(sender), this.#auth, info, 32);
    const key = derive(secret, salt, text('Content-Encoding: aes128gcm'), 16);
    const nonce = derive(secret, salt, text('Content-Encoding: nonce'), 12);
    const decipher = createDecipheriv('aes-128-gcm', key, nonce).setAuthTag(body.subarray(-16));
    const padded = Buffer.concat([decipher.update(body.subarray(21 + idLength, -16)), decipher.final()]);
    // The last record ends with a 2, followed by padding.
    return padded.subarray(0, padded.lastIndexOf(2)).toString();
  }
}
