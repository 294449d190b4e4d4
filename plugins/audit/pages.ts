import { InvalidInput, isMoment, Type, type PluginHandle, type Settings } from 'parley-forum';
import { adminSections, type Admin } from 'parley-forum/plugins/admin';
import { limitOf, pageFields, Paging } from 'parley-forum/plugins/api';
import { auditRules } from 'parley-forum/ports/audit';
import { readAudit, type AuditRecord } from 'parley-forum/plugins/audit';
import { negotiated, pages, phrase } from 'parley-forum/plugins/web';
import { FORGOTTEN } from './retention.ts';
import type { LogReader } from './log-reader.ts';

const PATH = '/admin/audit';
const DAY = 86_400_000;
const Text = Type.Optional(Type.String({ maxLength: 100 }));

/** An entry's details as text. */
const detailsText = (details: AuditRecord['details']): string =>
  Object.entries(details)
    .map(([key, value]) => `${key}: ${String(value)}`)
    .join(' · ');

const entryModel = (
  { details, subject, actor, ...entry }: AuditRecord,
  labels: ReadonlyMap<string, string>,
): object => ({
  ...entry,
  label: labels.get(entry.action),
  facts: detailsText(details),
  actor: actor && { name: actor.username ?? actor.id, href: `${PATH}?actor=${actor.id}` },
  subject: subject && {
    text: `${subject.type} ${subject.username ?? subject.id}`,
    href: `${PATH}?${new URLSearchParams({ subject: `${subject.type}:${subject.id}` })}`,
  },
});

export interface PagesDeps {
  readonly admin: Admin;
  readonly settings: Settings;
  readonly reader: LogReader;
}

/** `/admin/audit`. Viewing it adds no entry. */
export function addPages(plugin: PluginHandle, { admin, settings, reader }: PagesDeps): void {
  /** Text keys by action, without the actions of plugins that are off. */
  const labels = (): ReadonlyMap<string, string> =>
    new Map([
      [FORGOTTEN, `${plugin.id}:audit.${FORGOTTEN}`],
      ...plugin
        .extensions(auditRules)
        .flatMap(({ plugin: owner, value }) =>
          value.actions.map((action) => [action, `${owner}:audit.${action}`] as const),
        ),
    ]);

  plugin.extend(adminSections, { group: 'system' as const, label: 'audit:title', href: PATH }, -97);

  plugin.route(pages, {
    method: 'get',
    path: PATH,
    can: readAudit,
    query: Type.Object({ ...Paging, action: Text, actor: Text, subject: Text, from: Text, to: Text }),
  })(async ({ query: { limit, offset, cursor, ...filters } }) => {
    const values = Object.fromEntries(
      Object.entries(filters)
        .map(([key, value]) => [key, value.trim()])
        .filter(([, value]) => value !== ''),
    );
    const { action, actor, subject, from, to } = values;
    const page = await reader.list({
      action,
      actor,
      subject,
      from: momentOf('from', from),
      to: momentOf('to', to, DAY),
      limit: limitOf(settings, limit),
      offset,
      cursor,
    });
    const known = labels();
    const actions = (await reader.actions()).map((name) => ({
      value: name,
      label: known.get(name),
      current: name === action,
    }));
    const next = page.nextCursor && `${PATH}?${new URLSearchParams({ ...values, cursor: page.nextCursor })}`;
    const view = admin.view(
      '@audit/list',
      { title: phrase('audit:title'), current: PATH },
      { entries: page.items.map((entry) => entryModel(entry, known)), actions, values, next },
    );
    return negotiated(view, { success: true, entries: page.items, ...pageFields(page) });
  });
}

/** Parses a date as its first moment in UTC, plus `later` milliseconds; any other text must be a timestamp. */
function momentOf(field: string, text: string | undefined, later = 0): Date | undefined {
  if (text === undefined) return undefined;
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const at = Date.parse(text) + (isDate ? later : 0);
  if (!isMoment(at)) throw new InvalidInput([{ field, message: 'is not a date, such as 2026-01-31' }]);
  return new Date(at);
}
