import { Type, type PluginHandle, type Settings } from 'parley-forum';
import { api, Id, IdParams, limitOf, listOf, pageFields, Paging } from 'parley-forum/plugins/api';
import { MessageReportRecord } from 'parley-forum/plugins/message-reports';
import { handleReports, OUTCOMES, REASONS, report, STATUSES } from 'parley-forum/plugins/reports';
import type { ReportReader } from './report-reader.ts';
import type { MessageReportSettings, ReportWriter } from './report-writer.ts';

export interface RoutesDeps {
  readonly plugin: PluginHandle<MessageReportSettings>;
  readonly settings: Settings;
  readonly reader: ReportReader;
  readonly writer: ReportWriter;
}
/** A note on a report, or on how it was handled. */
export const Note = Type.String({ maxLength: 2_000 });

/** /api/message-reports. */
export function messageReportRoutes({ plugin, settings, reader, writer }: RoutesDeps): void {
  const result = Type.Object({ report: MessageReportRecord });

  plugin.route(api, {
    method: 'post',
    path: '/message-reports',
    can: report,
    status: 201,
    summary:
      'Report a private message that another member wrote to the caller; moderators get a copy of that message only. While the caller has an open report of it, that report is returned',
    result,
    body: Type.Object({ message_id: Id, reason: Type.Enum([...REASONS]), note: Type.Optional(Note) }),
  })(async ({ actor, body: { message_id: messageId, reason, note } }) => {
    const [made] = await reader.records([await writer.report(actor, { messageId, reason, note })]);
    return { report: made! };
  });

  plugin.route(api, {
    method: 'get',
    path: '/message-reports',
    can: handleReports,
    summary: 'Reports of private messages, newest first, without those of the caller’s own messages',
    query: Type.Object({ ...Paging, status: Type.Optional(Type.Enum([...STATUSES])) }),
    result: listOf('reports', MessageReportRecord),
  })(async ({ actor, query: { limit, ...query } }) => {
    const page = await reader.list({ ...query, limit: limitOf(settings, limit) }, actor);
    return { reports: [...page.items], ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'put',
    path: '/message-reports/:id',
    can: handleReports,
    summary: 'Resolve or dismiss a report, along with all open reports of its message',
    params: IdParams,
    result,
    body: Type.Object({ status: Type.Enum([...OUTCOMES]), note: Type.Optional(Note) }),
    load: ({ actor, params }) => reader.find(params.id, actor),
  })(async ({ actor, target, body: { status: outcome, note } }) => {
    const [handled] = await reader.records([await writer.handle(target, { outcome, note }, actor)]);
    return { report: handled! };
  });
}
