import { pipeline } from 'node:stream/promises';
import { stringify } from 'csv-stringify';
import { Type, ZERO_ID, type Clock, type Static } from 'parley-forum';
import { ACTIONS, moderationLogExported, openModeration } from 'parley-forum/plugins/moderation';
import type { Protection } from 'parley-forum/plugins/protection';
import { pagerOf, pages, phrase, redirect, view } from 'parley-forum/plugins/web';
import type { LogFilters, NamedEntry } from '../moderation-log.ts';
import { HOME, entryModel, LOG, type PagesDeps } from './shared.ts';

const PAGE = 30;
const Filters = Type.Object({
  action: Type.Optional(Type.String({ maxLength: 40 })),
  actor: Type.Optional(Type.String({ maxLength: 64 })),
  member: Type.Optional(Type.String({ maxLength: 64 })),
});
const Query = Type.Object({
  ...Filters.properties,
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
});
/** An id that no account has, so that an unknown name matches nothing. */
const NO_ONE = ZERO_ID;

/** The columns of the exported file, in order. */
const FILE_COLUMNS = ['time', 'action', 'by', 'member', 'discussion', 'post', 'title', 'report', 'reason', 'until'];

const fileRow = ({ created_at, until, actor, member, ...entry }: NamedEntry): Readonly<Record<string, unknown>> => ({
  time: created_at.toISOString(),
  action: entry.action,
  by: actor?.username,
  member: member?.username,
  discussion: entry.discussion_number,
  post: entry.post_number,
  title: entry.title,
  report: entry.report_id,
  reason: entry.reason,
  until: until?.toISOString(),
});

interface LogPagesDeps extends PagesDeps {
  readonly clock: Clock;
  readonly protection: Protection;
}

/** /mod/log: the moderation log, filtered by action, moderator and member. */
export function logPages({ plugin, clock, accounts, protection, log }: LogPagesDeps): void {
  /** Undefined if no name is given. E-mail addresses are not looked up, so as not to reveal whose they are. */
  const idOf = async (name: string): Promise<string | undefined> => {
    if (name === '') return undefined;
    return (name.includes('@') ? undefined : (await accounts.findByIdentifier(name))?.id) ?? NO_ONE;
  };
  /** Undefined if the action does not exist. */
  const filtersOf = async ({
    action,
    actor,
    member,
  }: Readonly<Record<'action' | 'actor' | 'member', string>>): Promise<LogFilters | undefined> => {
    const chosen = ACTIONS.find((name) => name === action);
    if (action !== '' && chosen === undefined) return undefined;
    return { action: chosen, actorId: await idOf(actor), userId: await idOf(member) };
  };
  const trimmed = ({ action = '', actor = '', member = '' }: Static<typeof Filters>) => ({
    action,
    actor: actor.trim(),
    member: member.trim(),
  });

  plugin.route(pages, { method: 'get', path: LOG, can: openModeration, query: Query })(
    async ({ actor: viewer, query }) => {
      const { page = 1 } = query;
      const values = trimmed(query);
      const filters = await filtersOf(values);
      const { items, hasMore } = filters
        ? await log.list({ ...filters, limit: PAGE, offset: (page - 1) * PAGE }, viewer)
        : { items: [], hasMore: false };
      const address = (number: number): string => {
        const given = new URLSearchParams(
          Object.entries({ ...values, page: number > 1 ? String(number) : '' }).filter(([, value]) => value !== ''),
        );
        return given.size > 0 ? `${LOG}?${given}` : LOG;
      };
      const model = {
        values,
        home: HOME,
        entries: items.map(entryModel),
        actions: ACTIONS.map((name) => ({
          value: name,
          label: `moderation:action.${name}`,
          current: name === values.action,
        })),
        pager: pagerOf(page, hasMore ? page + 1 : page, address),
      };
      return view(
        '@moderation/log',
        { name: 'moderation', title: phrase('moderation:log.title'), noindex: true, current: HOME },
        model,
      );
    },
  );

  plugin.route(pages, {
    method: 'post',
    path: `${LOG}/export`,
    can: openModeration,
    summary: 'The moderation log as a CSV file.',
    body: Filters,
  })(async ({ actor: viewer, res, body }) => {
    const filters = await filtersOf(trimmed(body));
    await plugin.emit(moderationLogExported, { by: viewer.id });
    const day = new Date(clock.now()).toISOString().slice(0, 10);
    protection.startDownload(res, { name: `moderation-log-${day}.csv`, type: 'text/csv; charset=utf-8' });
    const rows = async function* (): AsyncGenerator<object, void> {
      if (filters) for await (const entry of log.all(filters, viewer)) yield fileRow(entry);
    };
    // Cells that look like formulas are escaped, so that spreadsheet programs do not evaluate them.
    const csv = stringify({ bom: true, header: true, columns: FILE_COLUMNS, escape_formulas: true });
    await pipeline(rows, csv, res, { signal: plugin.signal });
    // Ignored, since the response has already been sent.
    return redirect(LOG);
  });
}
