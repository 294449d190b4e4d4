import { Type } from 'parley-forum';
import { pageFields, pageOf, Paging } from 'parley-forum/plugins/api';
import { adminSections, type Admin } from 'parley-forum/plugins/admin';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { manageReactions, reactionTypeSaved, type ReactionType } from 'parley-forum/plugins/reactions';
import {
  formErrors,
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
import type { RouteDeps } from './routes.ts';
import { MAX_POSITION, type ReactionTypes } from './reaction-types.ts';

const Body = Type.Object({
  slug: Type.String({ minLength: 1, maxLength: 40 }),
  emoji: Type.Optional(Type.String({ maxLength: 20 })),
  label: Type.Optional(Type.String({ maxLength: 40 })),
  position: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_POSITION })),
  enabled: Type.Optional(Type.Boolean()),
  ...OpenedField,
});

/** The fields of a reaction type that its form can change; the slug is fixed. */
const settable = ({ slug: _slug, ...values }: ReactionType): Omit<ReactionType, 'slug'> => values;

/** /admin/reactions. */
export function adminPages(
  { plugin }: Pick<RouteDeps, 'plugin'>,
  { admin, types }: { admin: Admin; types: ReactionTypes },
): void {
  plugin.extend(adminSections, { group: 'content' as const, label: 'reactions:admin.title', href: '/admin/reactions' });
  plugin.extend(
    auditRules,
    audited(reactionTypeSaved, ['reaction-type.saved'], ({ slug, enabled, actor }) => ({
      action: 'reaction-type.saved',
      actor,
      subject: { type: 'reaction-type', id: slug },
      details: { enabled },
    })),
  );
  const can = manageReactions;

  /** The list of all reaction types, and below it the form for one of them or a new one. */
  const shown = (edited: ReactionType | undefined, retry?: Retry): View => {
    const model = {
      types: types.all(),
      edited,
      values: retry?.body ?? edited ?? { position: types.all().length, enabled: true },
      opened: retry ? retry.body['_opened'] : edited && openedForm({ ...settable(edited) }),
      ...formErrors(retry),
    };
    return admin.view(
      '@reactions/admin',
      { title: phrase('reactions:admin.title'), noindex: true, current: '/admin/reactions' },
      model,
    );
  };
  const rerender = (retry: Retry): View =>
    shown(
      types.all().find(({ slug }) => slug === retry.body['slug']),
      retry,
    );

  plugin.route(pages, {
    method: 'get',
    path: '/admin/reactions',
    can,
    query: Type.Object({ slug: Type.Optional(Type.String()), ...Paging }),
  })(async ({ query }) => {
    await types.refresh();
    const page = pageOf(types.all(), query);
    return negotiated(shown(types.all().find(({ slug }) => slug === query.slug)), {
      success: true,
      reactions: page.items,
      ...pageFields(page),
    });
  });

  plugin.route(pages, {
    method: 'post',
    path: '/admin/reactions/save',
    can,
    summary: 'Save a reaction type',
    options: { rerender },
    body: Body,
  })(async ({ actor, body }) => {
    await types.refresh();
    const { type, created } = await types.save({ ...touchedIn(body), slug: body.slug }, ({ slug, enabled }) =>
      plugin.emit(reactionTypeSaved, { slug, enabled, actor: actor.id }),
    );
    plugin.log.info({ reaction: type.slug }, 'a reaction type was saved');
    return negotiated(
      redirect('/admin/reactions', { notice: phrase('reactions:admin.saved', { name: type.label }) }),
      { success: true, reaction: type },
      created ? 201 : 200,
    );
  });
}
