import { InvalidInput, notFound, Type, type Static } from 'parley-forum';
import { pageFields, pageOf, Paging } from 'parley-forum/plugins/api';
import { adminSections } from 'parley-forum/plugins/admin';
import {
  manageWebhooks,
  webhookDeleted,
  webhookSaved,
  webhookSecretRotated,
  webhookTested,
} from 'parley-forum/plugins/webhooks';
import {
  negotiated,
  OpenedField,
  openedForm,
  pages,
  phrase,
  redirect,
  touchedIn,
  type Retry,
  type View,
} from 'parley-forum/plugins/web';
import { BlockedUrl } from 'parley-forum/plugins/protection';
import { subscribableEvents } from './events/event-subscriber.ts';
import { recordOf, type WebhookInput, type WebhookRow } from './webhook-store.ts';
import { badgeOf, actorFields, queryText, ROOT, tabs, type PageDeps } from './page-common.ts';

const Id = Type.Object({ id: Type.String({ maxLength: 64 }) });
const Texts = Type.Union([
  Type.Array(Type.String({ maxLength: 100 }), { maxItems: 200 }),
  Type.String({ maxLength: 100 }),
]);
const SaveBody = Type.Object({
  id: Type.Optional(Type.String({ maxLength: 64 })),
  name: Type.Optional(Type.String({ maxLength: 100 })),
  url: Type.Optional(Type.String({ maxLength: 2_000 })),
  events: Type.Optional(Texts),
  event: Type.Optional(Type.String({ maxLength: 100 })),
  active: Type.Optional(Type.Boolean()),
  categories: Type.Optional(Texts),
  ...OpenedField,
});
const NO_EVENTS = 'must name at least one event';
const hostOf = (url: string): string => URL.parse(url)?.host ?? url;
const required = (field: string, message: string): never => {
  throw new InvalidInput([{ field, message }]);
};
/** A new webhook; throws 400 if it has no URL or no events. */
const complete = ({ url, events, name, ...others }: Partial<WebhookInput>): WebhookInput => ({
  categories: [],
  active: true,
  ...others,
  url: url ?? required('url', 'is required'),
  events: events ?? required('events', NO_EVENTS),
  name: name ?? hostOf(url ?? ''),
});
type Values = Readonly<Record<string, unknown>>;
const list = (value: readonly string[] | string): readonly string[] =>
  (typeof value === 'string' ? [value] : value).filter((text) => text !== '');

/** /admin/webhooks, and the actions on one webhook. */
export function addWebhookPages({
  plugin,
  data,
  admin,
  access,
  hooks,
  guard,
  webhooks,
  history,
  web,
  categories,
}: PageDeps): void {
  plugin.extend(adminSections, { group: 'integrations' as const, label: 'webhooks:pages', href: ROOT });
  const can = manageWebhooks;
  const found = async (id: string): Promise<WebhookRow> =>
    (await webhooks.find(id)) ?? Promise.reject(notFound('There is no such webhook'));

  /**
   * The categories to choose from, plus deleted ones that the webhook still has: if they were dropped, it could end up
   * subscribed to all categories.
   */
  const categoryOptions = (edited: WebhookRow | undefined): readonly object[] | undefined => {
    const all = categories?.all();
    const gone = (edited?.categories ?? []).filter((id) => !all?.some((category) => category.id === id));
    return (
      all && [
        ...all.map(({ id, name, hue }) => ({ value: id, label: name, hue })),
        ...gone.map((id) => ({ value: id, label: web.say(phrase('webhooks:category-gone')) })),
      ]
    );
  };

  /** The list, and a form for one of the webhooks or for a new one. */
  const shown = (
    rows: readonly WebhookRow[],
    values: Values,
    edited: WebhookRow | undefined,
    { problems = [], message }: Partial<Retry> = {},
  ): View => {
    const known = edited?.events ?? [];
    const events = [...new Set([...subscribableEvents(hooks), ...known])].map((name) => ({ value: name, label: name }));
    const model = {
      tabs: tabs(ROOT),
      message,
      problems,
      wrong: Object.fromEntries(problems.map(({ field, message: text }) => [field.split('.')[0], text])),
      values: {
        ...values,
        events: list((values['events'] ?? []) as string[]),
        categories: list((values['categories'] ?? []) as string[]),
      },
      opened: values['_opened'],
      events,
      edited: edited && {
        ...recordOf(edited),
        history: `${ROOT}/history?webhook_id=${edited.id}`,
        statistics: `${ROOT}/stats?webhook_id=${edited.id}`,
      },
      categories: categoryOptions(edited),
      webhooks: rows.map((row) => ({
        ...recordOf(row),
        href: `${ROOT}?id=${row.id}`,
        host: URL.parse(row.url)?.host,
        disabled: row.disabled && `webhooks:disabled.${row.disabled}`,
        badge: badgeOf(row.lastStatus ?? ''),
        status: row.lastStatus && `webhooks:status.${row.lastStatus}`,
        names: row.events.join(', '),
      })),
    };
    return admin.view('@webhooks/list', { title: phrase('webhooks:pages'), current: ROOT }, model);
  };
  const valuesOf = (webhook: WebhookRow | undefined): Values =>
    webhook
      ? { ...recordOf(webhook), _opened: openedForm({ ...recordOf(webhook) }) }
      : { active: true, events: ['discussion.created', 'post.created'] };
  const rerender = async (retry: Retry): Promise<View> => {
    const rows = await webhooks.list();
    return shown(
      rows,
      { ...retry.body, active: String(retry.body['active'] ?? true) !== 'false' },
      rows.find(({ id }) => id === retry.body['id']),
      retry,
    );
  };
  const secretView = (webhook: WebhookRow, secret: string, notice: string): View =>
    admin.view(
      '@webhooks/secret',
      { title: phrase('webhooks:pages'), current: ROOT },
      { name: webhook.name, secret, notice, back: `${ROOT}?id=${webhook.id}` },
    );

  const checkedUrl = async (text: string): Promise<string> => {
    const url = URL.parse(text.trim());
    const refuse = (message: string): never => {
      throw new InvalidInput([{ field: 'url', message }]);
    };
    if (!url) return refuse('is not an address, such as https://example.org/hook');
    // A name that cannot be resolved now may be resolvable later; it is checked again on each delivery.
    await guard
      .resolve(url)
      .catch((error: unknown) => (error instanceof BlockedUrl ? refuse(error.message) : undefined));
    return url.href;
  };
  const checkedEvents = (names: readonly string[], kept: readonly string[]): readonly string[] => {
    const unknown = names.filter((name) => !subscribableEvents(hooks).includes(name) && !kept.includes(name));
    if (names.length === 0) throw new InvalidInput([{ field: 'events', message: NO_EVENTS }]);
    if (unknown.length > 0)
      throw new InvalidInput([
        {
          field: 'events',
          message: `has the unknown event "${unknown.join('", "')}"; choose from ${subscribableEvents(hooks).join(', ')}`,
        },
      ]);
    return [...new Set(names)];
  };
  const checkedCategories = async (given: readonly string[], kept: readonly string[]): Promise<readonly string[]> => {
    await categories?.refresh();
    return [
      ...new Set(
        given.map((idOrSlug) => {
          const category = categories?.find(idOrSlug, access.unrestricted);
          if (!category && kept.includes(idOrSlug)) return idOrSlug;
          if (!category)
            throw new InvalidInput([{ field: 'categories', message: `has the unknown category "${idOrSlug}"` }]);
          return category.id;
        }),
      ),
    ];
  };

  /**
   * Validates the submitted changes; values that the webhook already has are kept even if they are not valid any more.
   */
  const changesOf = async (
    { url, events, event, categories: chosen, name, active }: Partial<Static<typeof SaveBody>>,
    before: WebhookRow | undefined,
  ): Promise<Partial<WebhookInput>> => {
    const asked = events ?? event;
    return {
      ...(url !== undefined && url !== before?.url && { url: await checkedUrl(url) }),
      ...(asked !== undefined && { events: checkedEvents(list(asked), before?.events ?? []) }),
      ...(chosen !== undefined && { categories: await checkedCategories(list(chosen), before?.categories ?? []) }),
      ...(name !== undefined && name.trim() !== '' && { name: name.trim().replace(/\s+/g, ' ') }),
      ...(active !== undefined && { active }),
    };
  };

  plugin.route(pages, { method: 'get', path: ROOT, can, query: Type.Object(Paging) })(async ({ req, query }) => {
    await categories?.refresh();
    const rows = await webhooks.list();
    const page = pageOf(rows.map(recordOf), query);
    const edited = rows.find(({ id }) => id === queryText(req, 'id'));
    return negotiated(shown(rows, valuesOf(edited), edited), {
      success: true,
      webhooks: page.items,
      ...pageFields(page),
    });
  });

  plugin.route(pages, {
    method: 'post',
    path: `${ROOT}/save`,
    can,
    summary: 'Save a webhook',
    options: { rerender },
    body: SaveBody,
  })(async ({ actor, body }) => {
    const before = body.id === undefined || body.id === '' ? undefined : await found(body.id);
    const changes = await changesOf(touchedIn(body), before);
    const { webhook, secret } = await data.transaction(async () => {
      const saved = before
        ? { webhook: await webhooks.update(before.id, changes), secret: undefined }
        : await webhooks.create(complete(changes));
      const { id, name, url: target, active } = saved.webhook;
      await plugin.emit(webhookSaved, {
        actor: actor.id,
        webhook: { id, name, host: URL.parse(target)?.host ?? '', active },
      });
      return saved;
    });
    plugin.log.info({ ...actorFields(actor), webhook: webhook.id, active: webhook.active }, 'a webhook was saved');
    const json = { success: true, webhook: recordOf(webhook) };
    if (secret === undefined)
      return negotiated(
        redirect(`${ROOT}?id=${webhook.id}`, { notice: phrase('webhooks:saved', { name: webhook.name }) }),
        json,
      );
    return negotiated(secretView(webhook, secret, 'webhooks:secret.new'), { ...json, secret }, 201);
  });

  plugin.route(pages, {
    method: 'post',
    path: `${ROOT}/rotate-secret`,
    can,
    summary: 'webhooks:does.rotate',
    body: Id,
  })(async ({ actor, body }) => {
    const webhook = await found(body.id);
    const secret = await data.transaction(async () => {
      await plugin.emit(webhookSecretRotated, { actor: actor.id, webhook: { id: webhook.id } });
      return webhooks.rotate(webhook.id);
    });
    plugin.log.info({ ...actorFields(actor), webhook: webhook.id }, 'a webhook has a new secret');
    return negotiated(secretView(webhook, secret, 'webhooks:secret.rotated'), { success: true, secret });
  });

  plugin.route(pages, {
    method: 'post',
    path: `${ROOT}/test`,
    can,
    summary: 'webhooks:does.test',
    body: Id,
  })(async ({ actor, body }) => {
    const webhook = await found(body.id);
    await plugin.emit(webhookTested, { actor: actor.id, webhook: { id: webhook.id } });
    const delivery = await history.test(webhook, plugin.signal);
    return negotiated(redirect(`${ROOT}/history?delivery_id=${delivery.id}`), { success: true, delivery });
  });

  plugin.route(pages, {
    method: 'post',
    path: `${ROOT}/delete`,
    can,
    summary: 'webhooks:does.delete',
    body: Id,
  })(async ({ actor, body }) => {
    const webhook = await found(body.id);
    await data.transaction(async () => {
      await webhooks.remove(webhook.id);
      await plugin.emit(webhookDeleted, { actor: actor.id, webhook: { id: webhook.id, name: webhook.name } });
    });
    plugin.log.info({ ...actorFields(actor), webhook: webhook.id }, 'a webhook was deleted');
    return negotiated(redirect(ROOT, { notice: phrase('webhooks:removed', { name: webhook.name }) }), {
      success: true,
    });
  });
}
