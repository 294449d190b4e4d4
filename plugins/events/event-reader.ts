import { HttpError, sql, type Data, type Extension, type PluginHandle } from 'parley-forum';
import { isAdmin, type Viewer } from 'parley-forum/plugins/access';
import type { EventPage, LoggedEvent } from 'parley-forum/plugins/events';
import type { EventRule } from 'parley-forum/ports/events';

interface Row {
  readonly position: number;
  readonly id: string;
  readonly event: string;
  readonly created_at: Date;
  readonly data: object;
  /** Number of entries found, including those left out because of their size. */
  readonly found: number;
}
export interface EventReaderDeps {
  readonly data: Data;
  readonly attempt: PluginHandle['attempt'];
  rules(): readonly Extension<EventRule>[];
}

/** Maximum bytes of data per read of the log: an entry may contain a whole post. */
const MAX_DATA_BYTES = 512 * 1024;

interface Entries {
  readonly events: readonly LoggedEvent[];
  /** Whether some of the requested entries were left out because of their size. */
  readonly hasMore: boolean;
}

/** The first events, at least one, within `MAX_DATA_BYTES` in total: what an entry refers to may have grown since. */
function fitting(events: readonly LoggedEvent[]): readonly LoggedEvent[] {
  let size = 0;
  const end = events.findIndex(({ data }, at) => (size += JSON.stringify(data).length) > MAX_DATA_BYTES && at > 0);
  return end < 0 ? events : events.slice(0, end);
}

/** Reads the log and filters it by what viewers may see. */
export class EventReader {
  readonly #deps: EventReaderDeps;

  constructor(deps: EventReaderDeps) {
    this.#deps = deps;
  }

  /** The next entries after a position, not filtered by viewer: at least one, with at most `MAX_DATA_BYTES` of data. */
  async entries(position: number, limit: number, names?: readonly string[], offset = 0): Promise<Entries> {
    const rows = await this.#deps.data.all(sql<Row>`
      select position, id, event, created_at, data, found::int from (
        select *, row_number() over w as place, sum(octet_length(data::text)) over w as reached,
          count(*) over () as found from (
          select position, id, event, created_at, data from event_log
          where position > ${position}${names ? sql` and event = any(${names}::text[])` : sql``} order by position
              limit ${limit} offset ${offset}
        ) asked window w as (order by position)
      ) weighed where place = 1 or reached <= ${MAX_DATA_BYTES}::int order by position`);
    const events = rows.map(({ position: at, id, event, created_at: time, data }) => ({
      position: at,
      id,
      event,
      timestamp: time.toISOString(),
      data,
    }));
    return { events, hasMore: rows.length < (rows[0]?.found ?? 0) };
  }

  async after(
    position: number,
    limit: number,
    viewer: Viewer,
    names?: readonly string[],
    offset = 0,
  ): Promise<EventPage> {
    // Read first, so that no entry of these names up to that position can be missing from the result.
    const { newest } = names ? await this.bounds() : { newest: 0 };
    const found = await this.entries(position, limit + 1, names, offset);
    const page = found.events.slice(0, limit);
    const hasMore = found.hasMore || found.events.length > limit;
    const last = page.at(-1)?.position ?? position;
    const visible = await this.visible(page, viewer);
    const events = fitting(visible);
    if (events.length < visible.length) return { events, position: events.at(-1)!.position, hasMore: true };
    return { events, position: hasMore ? last : Math.max(last, newest), hasMore };
  }

  async visible(events: readonly LoggedEvent[], viewer: Viewer): Promise<readonly LoggedEvent[]> {
    const visibleEvents = new Map<LoggedEvent, LoggedEvent>();
    await Promise.all(
      [...Map.groupBy(events, ({ event }) => event)].map(async ([name, group]) => {
        const answers = await this.#ask(
          name,
          group.map(({ data }) => data),
          viewer,
        );
        group.forEach((event, at) => {
          const answer = answers[at] ?? false;
          if (answer) visibleEvents.set(event, answer === true ? event : { ...event, data: answer });
        });
      }),
    );
    return events.flatMap((event) => visibleEvents.get(event) ?? []);
  }

  personal(name: string): boolean {
    return this.#rule(name)?.value.personal === true;
  }

  async bounds(): Promise<{ oldest: number; newest: number }> {
    const row = await this.#deps.data.one(sql<{ oldest: number; newest: number }>`
      select coalesce(min(position), 0) as oldest, coalesce(max(position), 0) as newest from event_log`);
    return row!;
  }

  async #ask(name: string, data: readonly object[], viewer: Viewer): Promise<readonly (boolean | object)[]> {
    const rule = this.#rule(name);
    if (!rule) return data.map(() => isAdmin(viewer));
    const answers = await this.#deps.attempt(rule.plugin, `event rule ${name}`, () => rule.value.visible(data, viewer));
    // Skipping the rule would lose events.
    if (!answers)
      throw new HttpError(503, `Cannot determine who may see "${name}" right now; try again soon`, {
        headers: { 'Retry-After': '5' },
      });
    return answers;
  }

  #rule(name: string): Extension<EventRule> | undefined {
    return this.#deps.rules().find(({ value }) => value.hook.id === name);
  }
}
