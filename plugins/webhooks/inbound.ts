import {
  createId,
  HttpError,
  InvalidInput,
  sql,
  Type,
  type Clock,
  type Data,
  type PluginHandle,
  type Request,
} from 'parley-forum';
import { api } from 'parley-forum/plugins/api';
import type { Protection } from 'parley-forum/plugins/protection';
import { webhookReceived } from 'parley-forum/plugins/webhooks';
import { bodySignature, keyOf, constantTimeEqual, standardSignature, textKeyOf } from './signatures.ts';

/** Seconds by which a sender's clock may differ from the server's. */
const TOLERANCE = 300;
/** Milliseconds for which an id is stored. */
const ID_RETENTION = 24 * 3_600_000;
const MAX_ID_LENGTH = 255;
/** Headers that identify duplicates, in Standard Webhooks and from GitHub. */
const ID_HEADERS = ['webhook-id', 'x-github-delivery'] as const;
const OMITTED_HEADERS = new Set(['authorization', 'cookie', 'proxy-authorization']);

export interface InboundWebhooksDeps {
  readonly plugin: PluginHandle<{ readonly 'webhooks.inbound_secret': string | undefined }>;
  readonly data: Data;
  readonly clock: Clock;
  readonly protection: Protection;
}

/** POST /api/webhooks: receives webhooks of other services. */
export class InboundWebhooks {
  readonly #deps: InboundWebhooksDeps;

  constructor(deps: InboundWebhooksDeps) {
    this.#deps = deps;
    deps.plugin.route(api, {
      method: 'post',
      path: '/webhooks',
      can: 'public',
      options: { csrf: false, raw: true },
      summary:
        'Receive JSON from another service, signed with the forum’s inbound secret: X-Forum-Signature, X-Hub-Signature-256, or Standard Webhooks',
      result: Type.Object({}),
    })(async ({ req }) => {
      await this.#receive(req);
      return {};
    });
  }

  /** Deletes ids whose retention is over. */
  async deleteOldIds(): Promise<void> {
    await this.#deps.data.all(sql`delete from webhook_received where received_at <= ${this.#oldest()}`);
  }

  async #receive(req: Request): Promise<void> {
    const { plugin, data, clock, protection } = this.#deps;
    const secret = plugin.settings['webhooks.inbound_secret'];
    const body = await protection.bytes(req);
    if (!secret || !isSigned(secret, req, body) || !isTimely(req, clock.now())) {
      throw new HttpError(401, 'The signature is missing or not valid, or its time is more than five minutes off', {
        code: 'invalid_signature',
      });
    }
    const payload = protection.json(body);
    const name = ID_HEADERS.find((header) => req.get(header) !== undefined);
    const given = name && req.get(name);
    if (given !== undefined && (given === '' || given.length > MAX_ID_LENGTH))
      throw new InvalidInput([{ field: name!, message: `must have 1 to ${MAX_ID_LENGTH} characters` }]);
    const now = clock.now();
    await data.transaction(async () => {
      if (given !== undefined && !(await this.#isNew(given, now))) return;
      await plugin.emit(webhookReceived, {
        id: given ?? createId(now),
        payload,
        headers: headersOf(req),
        receivedAt: new Date(now).toISOString(),
      });
    });
  }

  async #isNew(id: string, now: number): Promise<boolean> {
    const row = await this.#deps.data
      .one(sql`insert into webhook_received as r (id, received_at) values (${id}, ${new Date(now)})
      on conflict (id) do update set received_at = excluded.received_at
      where r.received_at <= ${this.#oldest()} returning id`);
    return row !== undefined;
  }

  #oldest(): Date {
    return new Date(this.#deps.clock.now() - ID_RETENTION);
  }
}

/**
 * If the sender signed the id and time as well, only that signature counts. Signatures of the body alone may be
 * several, separated by commas, and their key is the secret's bytes or, as GitHub does it, its text.
 */
function isSigned(secret: string, req: Request, body: Buffer): boolean {
  const [id, timestamp, items] = [req.get('webhook-id'), req.get('webhook-timestamp'), req.get('webhook-signature')];
  if (items !== undefined) {
    if (id === undefined || timestamp === undefined) return false;
    const expected = standardSignature(keyOf(secret), { id, timestamp }, body);
    return items.split(' ').some((item) => constantTimeEqual(expected, item));
  }
  const expected = [keyOf(secret), textKeyOf(secret)].map((key) => bodySignature(key, body));
  const given = [req.get('x-forum-signature'), req.get('x-hub-signature-256')].flatMap(
    (items) => items?.toLowerCase().split(',') ?? [],
  );
  return given.some((item) => expected.some((signature) => constantTimeEqual(signature, item.trim())));
}

function isTimely(req: Request, now: number): boolean {
  const timestamp = req.get('webhook-timestamp');
  return (
    timestamp === undefined || (/^\d{1,12}$/.test(timestamp) && Math.abs(now / 1_000 - Number(timestamp)) <= TOLERANCE)
  );
}

const headersOf = ({ headers }: Request): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && !OMITTED_HEADERS.has(name) ? [[name, value]] : [],
    ),
  );
