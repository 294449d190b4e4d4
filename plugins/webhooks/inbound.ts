import {
  HttpError,
  InvalidInput,
  sql,
  Type,
  type Clock,
  type Data,
  type PluginHandle,
  type Request,
} from 'parley-forum';
import { api, createId } from 'parley-forum/plugins/api';
import type { Protection } from 'parley-forum/plugins/protection';
import { webhookReceived } from 'parley-forum/plugins/webhooks';
import { bodySignature, keyOf, sameText, standardSignature, textKeyOf } from './signatures.ts';

/** Seconds by which a sender's clock may differ from ours. */
const TOLERANCE = 300;
/** Milliseconds for which an id is remembered. */
const REMEMBERED = 24 * 3_600_000;
const LONGEST_ID = 255;
/** What tells a repetition, in Standard Webhooks and from GitHub. */
const ID_HEADERS = ['webhook-id', 'x-github-delivery'] as const;
const KEPT_BACK = new Set(['authorization', 'cookie', 'proxy-authorization']);

export interface ReceivingParts {
  readonly plugin: PluginHandle<{ readonly 'webhooks.inbound_secret': string | undefined }>;
  readonly data: Data;
  readonly clock: Clock;
  readonly protection: Protection;
}

/** POST /api/webhooks: what other services send. */
export class Receiving {
  readonly #parts: ReceivingParts;

  constructor(parts: ReceivingParts) {
    this.#parts = parts;
    parts.plugin.route(api, {
      method: 'post',
      path: '/webhooks',
      can: 'public',
      options: { csrf: false, raw: true },
      summary:
        'Take in JSON from another service, signed with the forum’s inbound secret: X-Forum-Signature, X-Hub-Signature-256, or Standard Webhooks',
      result: Type.Object({}),
    })(async ({ req }) => {
      await this.#receive(req);
      return {};
    });
  }

  /** Forgets ids that may come again. */
  async clean(): Promise<void> {
    await this.#parts.data.all(sql`delete from webhook_received where received_at <= ${this.#oldest()}`);
  }

  async #receive(req: Request): Promise<void> {
    const { plugin, data, clock, protection } = this.#parts;
    const secret = plugin.settings['webhooks.inbound_secret'];
    const body = await protection.bytes(req);
    if (!secret || !signedWith(secret, req, body) || !timely(req, clock.now())) {
      throw new HttpError(401, 'The signature is missing or not valid, or its time is more than five minutes off', {
        code: 'invalid_signature',
      });
    }
    const payload = protection.json(body);
    const name = ID_HEADERS.find((header) => req.get(header) !== undefined);
    const given = name && req.get(name);
    if (given !== undefined && (given === '' || given.length > LONGEST_ID))
      throw new InvalidInput([{ field: name!, message: `must have 1 to ${LONGEST_ID} characters` }]);
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
    const row = await this.#parts.data
      .one(sql`insert into webhook_received as r (id, received_at) values (${id}, ${new Date(now)})
      on conflict (id) do update set received_at = excluded.received_at where r.received_at <= ${this.#oldest()} returning id`);
    return row !== undefined;
  }

  #oldest(): Date {
    return new Date(this.#parts.clock.now() - REMEMBERED);
  }
}

/**
 * Where the sender has signed id and time as well, that signature alone counts. Of the body alone there may be several,
 * with commas between, and the key is the secret's bytes or, as GitHub has it, its text.
 */
function signedWith(secret: string, req: Request, body: Buffer): boolean {
  const [id, timestamp, items] = [req.get('webhook-id'), req.get('webhook-timestamp'), req.get('webhook-signature')];
  if (items !== undefined) {
    if (id === undefined || timestamp === undefined) return false;
    const expected = standardSignature(keyOf(secret), { id, timestamp }, body);
    return items.split(' ').some((item) => sameText(expected, item));
  }
  const expected = [keyOf(secret), textKeyOf(secret)].map((key) => bodySignature(key, body));
  const given = [req.get('x-forum-signature'), req.get('x-hub-signature-256')].flatMap(
    (items) => items?.toLowerCase().split(',') ?? [],
  );
  return given.some((item) => expected.some((signature) => sameText(signature, item.trim())));
}

function timely(req: Request, now: number): boolean {
  const timestamp = req.get('webhook-timestamp');
  return (
    timestamp === undefined || (/^\d{1,12}$/.test(timestamp) && Math.abs(now / 1_000 - Number(timestamp)) <= TOLERANCE)
  );
}

const headersOf = ({ headers }: Request): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && !KEPT_BACK.has(name) ? [[name, value]] : [],
    ),
  );
