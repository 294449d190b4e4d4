import { Type, type PluginHandle, type Settings } from 'parley-forum';
import { api, Id, IdParams, limitOf, listOf, pageFields, Paging } from 'parley-forum/plugins/api';
import { handleReports, OUTCOMES, REASONS, report, ReportRecord, STATUSES } from 'parley-forum/plugins/reports';
import type { ReportReader } from './report-reader.ts';
import type { ReportWriter } from './report-writer.ts';

export interface RoutesDeps {
  readonly plugin: PluginHandle;
  readonly settings: Settings;
  readonly reader: ReportReader;
  readonly writer: ReportWriter;
}
/** A note on a report, or on how it was handled. */
export const Note = Type.String({ maxLength: 2_000 });

/** /api/reports. */
export function reportRoutes({ plugin, settings, reader, writer }: RoutesDeps): void {
  const result = Type.Object({ report: ReportRecord });

  plugin.route(api, {
    method: 'post',
    path: '/reports',
    can: report,
    status: 201,
    summary: 'Report a post; returns the caller’s open report of the post if there is one',
    result,
    body: Type.Object({ post_id: Id, reason: Type.Enum([...REASONS]), note: Type.Optional(Note) }),
  })(async ({ actor, body: { post_id: postId, reason, note } }) => {
    const [made] = await reader.records([await writer.report(actor, { postId, reason, note })]);
    return { report: { ...made!, claimed_by: null, claimed_at: null } };
  });

  plugin.route(api, {
    method: 'get',
    path: '/reports',
    can: handleReports,
    summary: 'Reports of posts that the caller may see, newest first',
    query: Type.Object({ ...Paging, status: Type.Optional(Type.Enum([...STATUSES])) }),
    result: listOf('reports', ReportRecord),
  })(async ({ actor, query: { limit, ...query } }) => {
    const page = await reader.list({ ...query, limit: limitOf(settings, limit) }, actor);
    return { reports: [...page.items], ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'put',
    path: '/reports/:id',
    can: handleReports,
    summary: 'Resolve or dismiss a report, together with all open reports of its post',
    params: IdParams,
    result,
    body: Type.Object({ status: Type.Enum([...OUTCOMES]), note: Type.Optional(Note) }),
    load: ({ actor, params }) => reader.find(params.id, actor),
  })(async ({ actor, target, body: { status: outcome, note } }) => {
    const [handled] = await reader.records([await writer.handle(target, { outcome, note }, actor)]);
    return { report: handled! };
  });
}
