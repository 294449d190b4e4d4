import { hash } from 'node:crypto';
import { HttpError, InvalidInput, sql, type Clock, type Data, type RequestContext, type RouteInfo } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { JSON_TYPE, send, successBytes } from './responses.ts';

/** The header by which a caller names a request, so that sending it again does not create twice. */
export const KEY_HEADER = 'Idempotency-Key';
const KEY = /^[\x20-\x7e]{1,255}$/;
/** Milliseconds for which an answer is remembered. */
const REMEMBERED = 24 * 3_600_000;

/** Whether the route creates something, so that a repeated request would create it twice. */
export const creates = ({ method, status }: RouteInfo): boolean => method === 'post' && status === 201;

type Call = RequestContext<Viewer> & { readonly body: unknown };

interface Known {
  readonly status: number;
  readonly answer: string;
}

/**
 * Requests with an `Idempotency-Key`: the first is carried out, and its answer kept in the transaction of what it
 * writes; the same request again gets that answer. Refused ones leave nothing behind, so they may be sent again,
 * corrected or not.
 */
export class Repeats {
  readonly #data: Data;
  readonly #clock: Clock;
  /** By caller, the end of the last request with a key. */
  readonly #last = new Map<string, Promise<void>>();

  constructor(data: Data, clock: Clock) {
    this.#data = data;
    this.#clock = clock;
  }

  /** Undefined where the handler should simply run. */
  around(call: Call, route: RouteInfo, handler: () => Promise<object>): Promise<object> | undefined {
    const key = call.req.get(KEY_HEADER);
    const caller = call.actor.id;
    if (key === undefined || caller === undefined || !creates(route)) return undefined;
    if (!KEY.test(key))
      throw new InvalidInput([{ field: KEY_HEADER, message: 'must have 1 to 255 printable ASCII characters' }]);
    // One after the other for each caller: a repetition waits for the first, and nobody holds more than one connection.
    return this.#inTurn(caller, () => this.#once(call, { caller, key, route }, handler));
  }

  /** Forgets what nobody may repeat any more. */
  async clean(): Promise<void> {
    await this.#data.all(sql`delete from api_answer where asked_at <= ${this.#oldest()}`);
  }

  async #once(
    call: Call,
    { caller, key, route }: { caller: string; key: string; route: RouteInfo },
    handler: () => Promise<object>,
  ): Promise<object> {
    const { req, res, body } = call;
    const digest = hash('sha256', JSON.stringify([req.path, body]), 'base64url');
    const { result = {}, known } = await this.#data.transaction<{ result?: object; known?: Known | undefined }>(
      async () => {
        // Another process that is at the same request holds the row; this waits until it is done.
        const mine = await this.#data
          .one(sql`insert into api_answer (account_id, key, digest, asked_at) values (${caller}, ${key}, ${digest}, ${new Date(this.#clock.now())})
        on conflict (account_id, key) do update set digest = excluded.digest, asked_at = excluded.asked_at where api_answer.asked_at <= ${this.#oldest()} returning key`);
        if (!mine) return { known: await this.#known(caller, key, digest) };
        const made = await handler();
        await this.#data.all(
          sql`update api_answer set status = ${route.status}, answer = ${successBytes(made).toString()} where account_id = ${caller} and key = ${key}`,
        );
        return { result: made };
      },
    );
    if (known) {
      res.setHeader('Idempotency-Replayed', 'true');
      send(req, res, { status: known.status, type: JSON_TYPE, body: Buffer.from(known.answer) });
    }
    return result;
  }

  async #known(caller: string, key: string, digest: string): Promise<Known> {
    const known = await this.#data.one(
      sql<
        Known & { readonly digest: string }
      >`select digest, status, answer from api_answer where account_id = ${caller} and key = ${key}`,
    );
    if (known?.digest === digest) return known;
    throw new HttpError(409, `This ${KEY_HEADER} was sent with another request; use a new one for each`, {
      code: 'idempotency_key_reused',
    });
  }

  async #inTurn<T>(caller: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(caller);
    const { promise: mine, resolve: end } = Promise.withResolvers<void>();
    this.#last.set(caller, mine);
    try {
      await before;
      return await work();
    } finally {
      end();
      if (this.#last.get(caller) === mine) this.#last.delete(caller);
    }
  }

  #oldest(): Date {
    return new Date(this.#clock.now() - REMEMBERED);
  }
}
