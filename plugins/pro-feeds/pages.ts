import { InvalidInput, notFound, Type, type Environment, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { Id } from 'parley-forum/plugins/api';
import type { Categories } from 'parley-forum/plugins/discussions';
import { feedPath, FORMATS } from 'parley-forum/plugins/feeds';
import {
  formErrors,
  navigation,
  negotiated,
  pages,
  phrase,
  redirect,
  view,
  type Retry,
  type View,
} from 'parley-forum/plugins/web';
import type { FeedTokens } from './tokens.ts';

export interface PageDeps {
  readonly tokens: FeedTokens;
  readonly categories: Categories;
  readonly environment: Environment;
  enabled(): boolean;
}
const SETTINGS = '/settings/feeds';
const NewToken = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 60, pattern: '\\S' }),
  category_ids: Type.Optional(Type.Array(Id, { maxItems: 500 })),
});
const NAMES = { rss: 'RSS', atom: 'Atom', json: 'JSON' } as const;

/** What the page shows besides the list: a refused form, or a newly created token. */
interface FormState {
  readonly retry?: Retry;
  readonly token?: string;
}

/** /settings/feeds, where members create and revoke their own feed URLs. */
export function addPages(plugin: PluginHandle, { tokens, categories, environment, enabled }: PageDeps): void {
  plugin.extend(navigation, { area: 'settings', label: 'pro-feeds:title', href: SETTINGS, visible: enabled });
  const load = (): true | undefined => enabled() || undefined;

  const feeds = async (viewer: Viewer, { retry, token }: FormState = {}): Promise<View> => {
    await categories.refresh();
    const visible = categories.visible(viewer);
    const nameOf = (id: string): string => visible.find((category) => category.id === id)?.name ?? '–';
    // A guest gets here with a submitted form if their session has ended in the meantime.
    const list = (viewer.id === undefined ? [] : await tokens.of(viewer.id)).map((one) => ({
      ...one,
      scope: one.category_ids?.map(nameOf).join(', '),
    }));
    const model = {
      tokens: list,
      categories: visible.map(({ id, name }) => ({ value: id, label: name })),
      urls:
        token &&
        FORMATS.map((format) => ({
          format: NAMES[format],
          href: `${environment.baseUrl}${feedPath(format)}?token=${token}`,
        })),
      values: retry?.body ?? {},
      chosen: [retry?.body['category_ids'] ?? []].flat(),
      ...formErrors(retry),
    };
    return view('@pro-feeds/settings', { name: 'settings', title: phrase('pro-feeds:title'), noindex: true }, model);
  };
  const options = { rerender: (retry: Retry) => feeds(retry.actor, { retry }) };

  plugin.route(pages, { method: 'get', path: SETTINGS, can: 'member', options, load })(async ({ actor }) =>
    negotiated(await feeds(actor), { success: true, feed_tokens: await tokens.of(actor.id) }),
  );

  // The password is asked for again, because a feed URL shows what its owner may read long after a session has ended.
  const confirmed = { ...options, confirm: true };
  plugin.route(pages, { method: 'post', path: SETTINGS, can: 'member', options: confirmed, load, body: NewToken })(
    async ({ actor, body, res }) => {
      await categories.refresh();
      const unknown = (body.category_ids ?? []).some(
        (id) => !categories.visible(actor).some((category) => category.id === id),
      );
      if (unknown) throw new InvalidInput([{ field: 'category_ids', message: 'has a category that you cannot see' }]);
      const categoryIds = body.category_ids?.length ? [...new Set(body.category_ids)] : undefined;
      const { id, token } = await tokens.create(actor.id, { name: body.name.trim(), categoryIds });
      res.set('Cache-Control', 'no-store');
      const created = (await tokens.of(actor.id)).find((one) => one.id === id);
      return negotiated(await feeds(actor, { token }), { success: true, token, feed_token: created }, 201);
    },
  );

  plugin.route(pages, {
    method: 'post',
    path: `${SETTINGS}/revoke`,
    can: 'member',
    options,
    load,
    body: Type.Object({ id: Id }),
  })(async ({ actor, body }) => {
    if (!(await tokens.revoke(actor.id, body.id))) throw notFound('You have no such feed address');
    return negotiated(redirect(SETTINGS, { notice: phrase('pro-feeds:revoked') }), { success: true });
  });
}
