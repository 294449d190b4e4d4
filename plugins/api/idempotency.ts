import { hash } from 'node:crypto';
import { HttpError, InvalidInput, sql, type Clock, type Data, type RequestContext, type RouteInfo } from 'parley-forum';
import type { ApiContext, ApiOptions } from 'parley-forum/plugins/api';
import { CREATED, JSON_TYPE, outcomeOf, send, setLocation, successBytes } from './responses.ts';
import { Turns } from './turns.ts';

/** The header that identifies a request, so that a retry does not create twice. */
export const KEY_HEADER = 'Idempotency-Key';
const KEY = /^[\x20-\x7e]{1,255}$/;
/**
 * Requests with a key that are carried out at once. Each holds one of the ten connections of a process for as long as
 * its text is rendered: what many members send together leaves enough for everybody else.
 */
const MAX_CONCURRENT = 4;
/** Milliseconds for which a response is stored. */
const RETENTION = 24 * 3_600_000;

/** Whether the route creates something, so that a repeated request would create it twice. */
export const isCreation = ({ method, status }: RouteInfo): boolean => method === 'post' && status === CREATED;

type Call = RequestContext<ApiContext, ApiOptions> & { readonly body: unknown };

interface StoredResponse {
  readonly status: number;
  readonly answer: string;
}

/**
 * Requests with an `Idempotency-Key`: the first is carried out, and its response stored in the same transaction; a
 * repeated request gets the stored response. Refused ones are not stored, so they may be sent again, corrected or not.
 */
export class Idempotency {
  readonly #data: Data;
  readonly #clock: Clock;
  readonly #callers = new Turns();
  #running = 0;
  /** Those that wait for one of them to end, the first to come first. */
  readonly #waiting: (() => void)[] = [];

  constructor(data: Data, clock: Clock) {
    this.#data = data;
    this.#clock = clock;
  }

  /** Undefined where the handler should simply run. */
  wrap(call: Call, handler: () => Promise<object>): Promise<object> | undefined {
    const key = call.req.get(KEY_HEADER);
    const caller = call.actor.id;
    if (key === undefined || caller === undefined || !isCreation(call.route)) return undefined;
    if (!KEY.test(key))
      throw new InvalidInput([{ field: KEY_HEADER, message: 'must have 1 to 255 printable ASCII characters' }]);
    // Serial per caller: a repetition waits for the first, and no caller holds more than one connection.
    return this.#callers.run(caller, () => this.#withFew(() => this.#once(call, { caller, key }, handler)));
  }

  /** Deletes responses whose retention is over. */
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
      // Another process that is at the same request holds the row; this waits until it is done.
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
    throw new HttpError(409, `This ${KEY_HEADER} was sent with another request; use a new one for each`, {
      code: 'idempotency_key_reused',
    });
  }

  async #withFew<T>(work: () => Promise<T>): Promise<T> {
    // Whoever ends hands the place on.
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
