import { sql, type Data } from 'parley-forum';
import { Gathering } from '../delivery/batcher.ts';
import type { Queue } from '../delivery/delivery-queue.ts';

/** Something integrators may be told, as it was raised. */
export interface Raised {
  /** The same for every way it goes out. */
  readonly id: string;
  readonly event: string;
  /** All that was raised, and what of it may leave. */
  readonly payload: object;
  readonly data: object;
}
interface Subscriber {
  readonly id: string;
  readonly events: readonly string[];
  readonly categories: readonly string[];
}
export interface FanOutParts {
  readonly data: Data;
  readonly queue: Queue;
  /** In which category each happened, where it did in one. Asked only when a webhook wants some categories alone. */
  readonly categoriesOf: (events: readonly Raised[]) => Promise<ReadonlyMap<Raised, string | undefined>>;
}

/** The moment in an id of version 7: when it was raised, however late it goes out. */
const raisedAt = (id: string): Date => new Date(Number.parseInt(id.replace('-', '').slice(0, 12), 16));

/** Makes of each event one delivery for every webhook that wants it; an event that comes again makes none. */
export class FanOut {
  readonly #parts: FanOutParts;
  readonly #gathering = new Gathering<Raised>((events) => this.#write(events));

  constructor(parts: FanOutParts) {
    this.#parts = parts;
  }

  add(raised: Raised): Promise<void> {
    return this.#gathering.add(raised);
  }

  async #write(events: readonly Raised[]): Promise<void> {
    const { data, queue, categoriesOf } = this.#parts;
    const names = [...new Set(events.map(({ event }) => event))];
    const subscribers = await data.all(
      sql<Subscriber>`select id, events, categories from webhook where active and events && ${names}::text[] order by id`,
    );
    const some = subscribers.some(({ categories }) => categories.length > 0);
    const where = some ? await categoriesOf(events) : new Map<Raised, string>();
    const wanted = subscribers.flatMap(({ id: webhookId, events: asked, categories }) =>
      events.flatMap((raised) => {
        const category = where.get(raised);
        const within = categories.length === 0 || category === undefined || categories.includes(category);
        return within && asked.includes(raised.event) ? [{ webhookId, raised }] : [];
      }),
    );
    if (wanted.length === 0) return;
    const told = [...new Set(wanted.map(({ raised }) => raised))];
    await data.transaction(async () => {
      const fresh = await this.#keep(told);
      await queue.add(
        wanted
          .filter(({ raised }) => fresh.has(raised.id))
          .map(({ webhookId, raised: { id, event } }) => ({ webhookId, eventId: id, event })),
      );
    });
  }

  /** The ids of those that were not known. */
  async #keep(events: readonly Raised[]): Promise<ReadonlySet<string>> {
    const rows = events.map(({ id, event, data }) => {
      const at = raisedAt(id);
      return { id, event, at, body: JSON.stringify({ id, event, timestamp: at.toISOString(), data }) };
    });
    const fresh = await this.#parts.data.all(sql<{ id: string }>`insert into webhook_event (id, event, body, created_at)
      select e.id, e.event, e.body, e.at from json_to_recordset(${JSON.stringify(rows)}::json) as e(id uuid, event text, body text, at timestamptz)
      order by e.id on conflict (id) do nothing returning id`);
    return new Set(fresh.map(({ id }) => id));
  }
}
