import { Batcher, sql, timeOf, type Data } from 'parley-forum';
import type { DeliveryQueue } from '../delivery/delivery-queue.ts';

/** A public event as it was raised. */
export interface RaisedEvent {
  /** The same for all deliveries of the event. */
  readonly id: string;
  readonly event: string;
  /** The complete payload, and its public part. */
  readonly payload: object;
  readonly data: object;
}
interface Subscriber {
  readonly id: string;
  readonly events: readonly string[];
  readonly categories: readonly string[];
}
export interface FanOutDeps {
  readonly data: Data;
  readonly queue: DeliveryQueue;
  /** The category of each event, if any. Called only if a webhook is limited to categories. */
  readonly findCategories: (events: readonly RaisedEvent[]) => Promise<ReadonlyMap<RaisedEvent, string | undefined>>;
}

/** Creates one delivery of each event for every subscribed webhook; a repeated event creates none. */
export class FanOut {
  readonly #deps: FanOutDeps;
  readonly #batcher = new Batcher<RaisedEvent>((events) => this.#writeBatch(events));

  constructor(deps: FanOutDeps) {
    this.#deps = deps;
  }

  add(raised: RaisedEvent): Promise<void> {
    return this.#batcher.add(raised);
  }

  async #writeBatch(events: readonly RaisedEvent[]): Promise<void> {
    const { data, queue, findCategories: categoriesOf } = this.#deps;
    const names = [...new Set(events.map(({ event }) => event))];
    const subscribers = await data.all(
      sql<Subscriber>`select id, events, categories from webhook where active and events && ${names}::text[]
        order by id`,
    );
    const some = subscribers.some(({ categories }) => categories.length > 0);
    const where = some ? await categoriesOf(events) : new Map<RaisedEvent, string>();
    const matches = subscribers.flatMap(({ id: webhookId, events: asked, categories }) =>
      events.flatMap((raised) => {
        const category = where.get(raised);
        const within = categories.length === 0 || category === undefined || categories.includes(category);
        return within && asked.includes(raised.event) ? [{ webhookId, raised }] : [];
      }),
    );
    if (matches.length === 0) return;
    const matching = [...new Set(matches.map(({ raised }) => raised))];
    await data.transaction(async () => {
      const fresh = await this.#storeEvents(matching);
      await queue.add(
        matches
          .filter(({ raised }) => fresh.has(raised.id))
          .map(({ webhookId, raised: { id, event } }) => ({ webhookId, eventId: id, event })),
      );
    });
  }

  /** Returns the ids of the events that were new. */
  async #storeEvents(events: readonly RaisedEvent[]): Promise<ReadonlySet<string>> {
    const rows = events.map(({ id, event, data }) => {
      const at = timeOf(id);
      return { id, event, at, body: JSON.stringify({ id, event, timestamp: at.toISOString(), data }) };
    });
    const fresh = await this.#deps.data.all(sql<{ id: string }>`insert into webhook_event (id, event, body, created_at)
      select e.id, e.event, e.body, e.at
      from json_to_recordset(${JSON.stringify(rows)}::json) as e(id uuid, event text, body text, at timestamptz)
      order by e.id on conflict (id) do nothing returning id`);
    return new Set(fresh.map(({ id }) => id));
  }
}
