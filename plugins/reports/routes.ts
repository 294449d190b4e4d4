import { Type, type PluginHandle, type Settings } from 'parley-forum';
import { api, Id, IdParams, limitOf, listOf, pageFields, Paging } from 'parley-forum/plugins/api';
import { handleReports, OUTCOMES, REASONS, report, ReportRecord, STATUSES } from 'parley-forum/plugins/reports';
import type { Reading } from './reading.ts';
import type { Reporting } from './reporting.ts';

export interface RouteServices {
  readonly plugin: PluginHandle;
  readonly settings: Settings;
  readonly reading: Reading;
  readonly reporting: Reporting;
}
/** What somebody says besides, of a report or of how it was handled. */
export const Note = Type.String({ maxLength: 2_000 });

/** /api/reports. */
export function reportRoutes({ plugin, settings, reading, reporting }: RouteServices): void {
  const result = Type.Object({ report: ReportRecord });

  plugin.route(api, {
    method: 'post',
    path: '/reports',
    can: report,
    status: 201,
    summary: 'Report a post; while one’s report of it is open, that one is answered',
    result,
    body: Type.Object({ post_id: Id, reason: Type.Enum([...REASONS]), note: Type.Optional(Note) }),
  })(async ({ actor, body: { post_id: postId, reason, note } }) => {
    const [made] = await reading.records([await reporting.report(actor, { postId, reason, note })]);
    return { report: { ...made!, claimed_by: null, claimed_at: null } };
  });

  plugin.route(api, {
    method: 'get',
    path: '/reports',
    can: handleReports,
    summary: 'Reports of what the caller may see, the newest first',
    query: Type.Object({ ...Paging, status: Type.Optional(Type.Enum([...STATUSES])) }),
    result: listOf('reports', ReportRecord),
  })(async ({ actor, query: { limit, ...query } }) => {
    const page = await reading.list({ ...query, limit: limitOf(settings, limit) }, actor);
    return { reports: [...page.items], ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'put',
    path: '/reports/:id',
    can: handleReports,
    summary: 'Say that a report is dealt with, and with it all open reports of its post',
    params: IdParams,
    result,
    body: Type.Object({ status: Type.Enum([...OUTCOMES]), note: Type.Optional(Note) }),
    load: ({ actor, params }) => reading.find(params.id, actor),
  })(async ({ actor, target, body: { status: outcome, note } }) => {
    const [handled] = await reading.records([await reporting.handle(target, { outcome, note }, actor)]);
    return { report: handled! };
  });
}
