import { InvalidInput, notFound, Type } from 'parley-forum';
import { limitOf, pageFields, Paging, type Page } from 'parley-forum/plugins/api';
import { manageWebhooks, STATUSES, webhookRedelivered, type DeliveryRecord } from 'parley-forum/plugins/webhooks';
import { formErrors, negotiated, pages, phrase, redirect, type Retry, type View } from 'parley-forum/plugins/web';
import { subscribableEvents } from '../events/event-subscriber.ts';
import type { DeliveryDetails } from './history.ts';
import { badgeOf, actorFields, ROOT, tabs, type PageDeps } from '../page-common.ts';

const PATH = `${ROOT}/history`;
const DateTime = Type.String({ maxLength: 40 });

/** /admin/webhooks/history, and redelivery. */
export function addHistoryPages({ plugin, data, admin, web, settings, hooks, webhooks, history }: PageDeps): void {
  const can = manageWebhooks;
  const rowOf = (delivery: DeliveryRecord, names: ReadonlyMap<string, string>): object => ({
    ...delivery,
    href: `${PATH}?delivery_id=${delivery.id}`,
    webhook: names.get(delivery.webhook_id),
    badge: badgeOf(delivery.status),
    label: `webhooks:status.${delivery.status}`,
  });

  /** One attempt with its request and response. */
  const detailView = ({ body, response, webhook, active, ...delivery }: DeliveryDetails): View => {
    const model = {
      tabs: tabs(PATH),
      delivery: rowOf(delivery, new Map([[delivery.webhook_id, webhook]])),
      body,
      response,
      active,
      back: `${PATH}?webhook_id=${delivery.webhook_id}`,
    };
    return admin.view('@webhooks/delivery', { title: phrase('webhooks:pages'), current: ROOT }, model);
  };
  const listView = async (
    page: Page<DeliveryRecord>,
    values: Readonly<Record<string, string>>,
    retry?: Retry,
  ): Promise<View> => {
    const rows = await webhooks.list();
    const names = new Map(rows.map(({ id, name }) => [id, name]));
    const choices = (texts: readonly { readonly value: string; readonly label: string }[]): readonly object[] => [
      { value: '', label: '–' },
      ...texts,
    ];
    const asked = Object.entries(values).filter(([, value]) => value !== '');
    const model = {
      tabs: tabs(PATH),
      deliveries: page.items.map((delivery) => rowOf(delivery, names)),
      values,
      webhooks: choices(rows.map(({ id, name }) => ({ value: id, label: name }))),
      statuses: choices(STATUSES.map((value) => ({ value, label: web.say(phrase(`webhooks:status.${value}`)) }))),
      events: choices([...subscribableEvents(hooks), 'webhook.test'].map((value) => ({ value, label: value }))),
      range: retry?.body,
      ...formErrors(retry),
      next: page.nextCursor && `${PATH}?${new URLSearchParams([...asked, ['cursor', page.nextCursor]])}`,
    };
    return admin.view('@webhooks/history', { title: phrase('webhooks:pages'), current: ROOT }, model);
  };

  plugin.route(pages, {
    method: 'get',
    path: PATH,
    can,
    query: Type.Object({
      ...Paging,
      delivery_id: Type.Optional(Type.String({ maxLength: 64 })),
      webhook_id: Type.Optional(Type.String({ maxLength: 64 })),
      status: Type.Optional(Type.Enum(['', ...STATUSES])),
      event: Type.Optional(Type.String({ maxLength: 100 })),
    }),
  })(
    async ({
      query: { limit, offset, cursor, delivery_id: id, webhook_id: webhookId = '', status = '', event = '' },
    }) => {
      if (id !== undefined) {
        const details = await history.find(id);
        if (!details) throw notFound('There is no such delivery');
        return negotiated(detailView(details), { success: true, delivery: details });
      }
      const page = await history.list({
        limit: limitOf(settings, limit),
        offset,
        cursor,
        ...(webhookId !== '' && { webhookId }),
        ...(status !== '' && { status }),
        ...(event !== '' && { event }),
      });
      return negotiated(await listView(page, { webhook_id: webhookId, status, event }), {
        success: true,
        deliveries: page.items,
        ...pageFields(page),
      });
    },
  );

  const rerender = async (retry: Retry): Promise<View> => {
    const asked = retry.body['webhook_id'];
    const webhookId = typeof asked === 'string' && asked !== '' && (await webhooks.find(asked)) ? asked : '';
    const page = await history.list({ limit: limitOf(settings, undefined), ...(webhookId !== '' && { webhookId }) });
    return listView(page, { webhook_id: webhookId, status: '', event: '' }, retry);
  };
  plugin.route(pages, {
    method: 'post',
    path: `${ROOT}/redeliver`,
    can,
    summary: 'webhooks:does.redeliver',
    options: { rerender, resendButton: true },
    body: Type.Object({
      delivery_id: Type.Optional(Type.String({ maxLength: 64 })),
      webhook_id: Type.Optional(Type.String({ maxLength: 64 })),
      from: Type.Optional(DateTime),
      to: Type.Optional(DateTime),
    }),
  })(async ({ actor, body: { delivery_id: id, webhook_id: webhookId, from, to } }) => {
    if (id === undefined && from === undefined)
      throw new InvalidInput([
        {
          field: 'delivery_id',
          message: 'is required, or `from` and `to` for all deliveries between them that did not arrive',
        },
      ]);
    if (webhookId && !(await webhooks.find(webhookId))) throw notFound('There is no such webhook');
    const range = {
      ...(webhookId && { webhookId }),
      from: parseDateTime('from', from),
      to: parseDateTime('to', to || '9999-12-31'),
    };
    const count = await data.transaction(async () => {
      const found = id === undefined ? await history.redeliverAll(range) : await history.redeliver(id);
      if (found > 0)
        await plugin.emit(webhookRedelivered, { actor: actor.id, webhook: webhookId || undefined, count: found });
      return found;
    });
    plugin.log.info({ ...actorFields(actor), count }, 'deliveries are being sent again');
    return negotiated(
      count === 0
        ? redirect(PATH, { notice: phrase('webhooks:again.none'), noticeKind: 'info' })
        : redirect(PATH, { notice: phrase('webhooks:again.count', { count }) }),
      { success: true, count },
    );
  });
}

/** Forms send minutes without a time zone, which are interpreted as UTC. */
function parseDateTime(field: string, text = '1970-01-01'): Date {
  const at = new Date(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?$/.test(text) ? `${text}Z` : text);
  if (!/^\d{4}-\d{2}-\d{2}/.test(text) || Number.isNaN(at.getTime()))
    throw new InvalidInput([{ field, message: 'is not a time, such as 2026-01-31T12:00:00Z' }]);
  return at;
}
