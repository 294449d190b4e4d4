import { hash } from 'node:crypto';
import { HttpError, InvalidInput, sql, type Clock, type Data, type RequestContext, type RouteInfo } from 'parley-forum';
import type { ApiContext, ApiOptions } from 'parley-forum/plugins/api';
import { CREATED, JSON_TYPE, outcomeOf, send, setLocation, successBytes } from './responses.ts';
import { Turns } from './turns.ts';

/** The header that identifies a request, so that a retry does not create twice. */
export const KEY_HEADER = 'Idempotency-Key';
const KEY = /^[\x20-\x7e]{1,255}$/;
/**
 * How many requests with a key run at once. Each holds one of the process's ten connections while its text is rendered;
 * the limit leaves enough connections for everyone else when many members post at the same time.
 */
const MAX_CONCURRENT = 4;
/** How long a response is stored, in milliseconds. */
const RETENTION = 24 * 3_600_000;

/** Whether the route creates something, so that a repeated request would create it twice. */
export const isCreation = ({ method, status }: RouteInfo): boolean => method === 'post' && status === CREATED;

type Call = RequestContext<ApiContext, ApiOptions> & { readonly body: unknown };

interface StoredResponse {
  readonly status: number;
  readonly answer: string;
}

/**
 * Handles requests with an `Idempotency-Key`: the first one runs, and its response is stored in the same transaction; a
 * repeated request gets the stored response. Failures are not stored, so a failed request may be sent again, corrected
 * or not.
 */
export class Idempotency {
  readonly #data: Data;
  readonly #clock: Clock;
  readonly #callers = new Turns();
  #running = 0;
  /** Queued requests waiting for a free slot, first come first served. */
  readonly #waiting: (() => void)[] = [];

  constructor(data: Data, clock: Clock) {
    this.#data = data;
    this.#clock = clock;
  }

  /** Returns undefined if the handler should simply run. */
  wrap(call: Call, handler: () => Promise<object>): Promise<object> | undefined {
    const key = call.req.get(KEY_HEADER);
    const caller = call.actor.id;
    if (key === undefined || caller === undefined || !isCreation(call.route)) return undefined;
    if (!KEY.test(key))
      throw new InvalidInput([{ field: KEY_HEADER, message: 'must have 1 to 255 printable ASCII characters' }]);
    // Serial per caller: a repeated request waits for the first, and no caller holds more than one connection.
    return this.#callers.run(caller, () => this.#withFew(() => this.#once(call, { caller, key }, handler)));
  }

  /** Deletes stored responses that have expired. */
  async deleteExpired(): Promise<void> {
    await this.#data.all(sql`delete from api_answer where asked_at <= ${this.#oldest()}`);
  }

  async #once(
    call: Call,
    { caller, key }: { caller: string; key: string },
    handler: () => Promise<object>,
  ): Promise<object> {
    const { req, res, route, body } = call;
    const distinct = route.options.fingerprint ? route.options.fingerprint(body) : body;
    const digest = hash('sha256', JSON.stringify([req.path, distinct]), 'base64url');
    const { result = {}, known } = await this.#data.transaction<{
      result?: object;
      known?: StoredResponse | undefined;
    }>(async () => {
      // If another process is handling the same request, it holds the row, and this statement waits until it is done.
      const mine = await this.#data.one(sql`insert into api_answer (account_id, key, digest, asked_at)
          values (${caller}, ${key}, ${digest}, ${new Date(this.#clock.now())})
        on conflict (account_id, key) do update set digest = excluded.digest, asked_at = excluded.asked_at
        where api_answer.asked_at <= ${this.#oldest()} returning key`);
      if (!mine) return { known: await this.#known(caller, key, digest) };
      const result = await handler();
      const said = outcomeOf(route, result);
      await this.#data.all(
        sql`update api_answer set status = ${said.status}, answer = ${successBytes(said.result).toString()}
          where account_id = ${caller} and key = ${key}`,
      );
      return { result };
    });
    if (known) {
      res.setHeader('Idempotency-Replayed', 'true');
      setLocation(res, route, { status: known.status, result: JSON.parse(known.answer) });
      send(req, res, { status: known.status, type: JSON_TYPE, body: Buffer.from(known.answer) });
    }
    return result;
  }

  async #known(caller: string, key: string, digest: string): Promise<StoredResponse> {
    const known = await this.#data.one(
      sql<
        StoredResponse & { readonly digest: string }
      >`select digest, status, answer from api_answer where account_id = ${caller} and key = ${key}`,
    );
    if (known?.digest === digest) return known;
    throw new HttpError(409, `This ${KEY_HEADER} was sent with another request; use a new key for each`, {
      code: 'idempotency_key_reused',
    });
  }

  async #withFew<T>(work: () => Promise<T>): Promise<T> {
    // A request that finishes hands its slot to the next in the queue.
    if (this.#running >= MAX_CONCURRENT) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }

  #oldest(): Date {
    return new Date(this.#clock.now() - RETENTION);
  }
}
