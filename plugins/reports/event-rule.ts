import type { Access } from 'parley-forum/plugins/access';
import { listCacheTags } from 'parley-forum/plugins/discussions';
import type { EventRule } from 'parley-forum/ports/events';
import { handleReports, reportCreated, type ReportEvent } from 'parley-forum/plugins/reports';
import type { Static } from 'parley-forum';
import type { ReportReader } from './report-reader.ts';

/** Events about reports are visible to those who handle reports, if they can see the post themselves. */
export const reportEventRule = (
  reader: ReportReader,
  access: Access,
): EventRule<{ readonly report: Static<typeof ReportEvent> }> => ({
  hook: reportCreated,
  // Nobody gets events about their own posts.
  personal: true,
  tags: listCacheTags,
  async visible(data, viewer) {
    if (!access.allows(viewer, handleReports)) return data.map(() => false);
    const ids = (data as readonly { readonly report: Static<typeof ReportEvent> }[]).map(({ report }) => report.id);
    const seen = await reader.visible(ids, viewer);
    return ids.map((id) => seen.has(id));
  },
});
