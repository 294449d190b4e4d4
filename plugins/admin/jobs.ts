import { Type, type Data, type Jobs } from 'parley-forum';
import { configure, adminSections, workRetried } from 'parley-forum/plugins/admin';
import { negotiated, pages, phrase, redirect } from 'parley-forum/plugins/web';
import { by, type PanelDeps } from './shared.ts';

/** `/admin/jobs`: durable jobs by listener, and a button to retry the failed ones. */
export function addJobs({ plugin, panel }: PanelDeps, { data, jobs }: { data: Data; jobs: Jobs }): void {
  plugin.extend(adminSections, { group: 'system' as const, label: 'admin:jobs', href: '/admin/jobs' }, -98);

  plugin.route(pages, { method: 'get', path: '/admin/jobs', can: configure })(async () => {
    const listeners = await jobs.report();
    return negotiated(panel.view('@admin/jobs', { title: phrase('admin:jobs') }, { listeners }), {
      success: true,
      jobs: listeners,
    });
  });

  plugin.route(pages, {
    method: 'post',
    path: '/admin/jobs/retry',
    can: configure,
    summary: 'admin:does.retry',
    body: Type.Object({ listener: Type.String({ maxLength: 200 }) }),
  })(async ({ actor, body: { listener } }) => {
    const count = await data.transaction(async () => {
      const found = await jobs.retry(listener);
      if (found > 0) await plugin.emit(workRetried, { actor: actor.id, listener, count: found });
      return found;
    });
    plugin.log.info({ ...by(actor), listener, count }, 'failed jobs were queued again');
    return negotiated(redirect('/admin/jobs', { notice: phrase('admin:jobs.retried', { count }) }), {
      success: true,
      count,
    });
  });
}
