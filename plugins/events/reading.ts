import { HttpError, sql, type Data, type Extension, type PluginHandle } from '#core';
import { isAdmin, type Viewer } from '#plugins/access';
import type { EventPage, EventRule, LoggedEvent } from '#plugins/events';

interface Row {
  readonly position: number;
  readonly id: string;
  readonly event: string;
  readonly created_at: Date;
  readonly data: object;
}
export interface ReadingParts {
  readonly data: Data;
  readonly attempt: PluginHandle['attempt'];
  rules(): readonly Extension<EventRule>[];
}

/** The log as it is kept, and what viewers may know of it. */
export class Reading {
  readonly #parts: ReadingParts;

  constructor(parts: ReadingParts) {
    this.#parts = parts;
  }

  /** The next entries after a position, whoever may see them. */
  async entries(position: number, limit: number, names?: readonly string[], offset = 0): Promise<readonly LoggedEvent[]> {
    const rows = await this.#parts.data.all(sql<Row>`select position, id, event, created_at, data from event_log
      where position > ${position}${names ? sql` and event = any(${names}::text[])` : sql``} order by position limit ${limit} offset ${offset}`);
    return rows.map(({ created_at: at, ...row }) => ({ position: row.position, id: row.id, event: row.event, timestamp: at.toISOString(), data: row.data }));
  }

  async after(position: number, limit: number, viewer: Viewer, names?: readonly string[], offset = 0): Promise<EventPage> {
    // Read first, so that nothing of these names up to there can be missing from the entries.
    const { newest } = names ? await this.bounds() : { newest: 0 };
    const found = await this.entries(position, limit + 1, names, offset);
    const page = found.slice(0, limit);
    const hasMore = found.length > limit;
    const last = page.at(-1)?.position ?? position;
    return { events: await this.visible(page, viewer), position: hasMore ? last : Math.max(last, newest), hasMore };
  }

  async visible(events: readonly LoggedEvent[], viewer: Viewer): Promise<readonly LoggedEvent[]> {
    const told = new Map<LoggedEvent, LoggedEvent>();
    await Promise.all([...Map.groupBy(events, ({ event }) => event)].map(async ([name, group]) => {
      const answers = await this.#ask(name, group.map(({ data }) => data), viewer);
      group.forEach((event, at) => {
        const answer = answers[at] ?? false;
        if (answer) told.set(event, answer === true ? event : { ...event, data: answer });
      });
    }));
    return events.flatMap((event) => told.get(event) ?? []);
  }

  async bounds(): Promise<{ oldest: number; newest: number }> {
    const row = await this.#parts.data.one(sql<{ oldest: number; newest: number }>`
      select coalesce(min(position), 0) as oldest, coalesce(max(position), 0) as newest from event_log`);
    return row!;
  }

  async #ask(name: string, data: readonly object[], viewer: Viewer): Promise<readonly (boolean | object)[]> {
    const rule = this.#parts.rules().find(({ value }) => value.hook.id === name);
    if (!rule) return data.map(() => isAdmin(viewer));
    const answers = await this.#parts.attempt(rule.plugin, `event rule ${name}`, () => rule.value.visible(data, viewer));
    // To go on without would be to lose them.
    if (!answers) throw new HttpError(503, `Who may know of "${name}" cannot be said at the moment; try again soon`, { headers: { 'Retry-After': '5' } });
    return answers;
  }
}
