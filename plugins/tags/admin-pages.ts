import { Type } from 'parley-forum';
import { pageFields, pageOf, Paging } from 'parley-forum/plugins/api';
import { adminSections, type Admin } from 'parley-forum/plugins/admin';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { manageTags, tagSaved } from 'parley-forum/plugins/tags';
import { tagDeleted } from 'parley-forum/ports/tags';
import type { Tag } from 'parley-forum/ports/tags';
import {
  formErrors,
  negotiated,
  OpenedField,
  openedForm,
  pagerOf,
  pages,
  phrase,
  redirect,
  touchedIn,
  type Retry,
  type View,
} from 'parley-forum/plugins/web';
import type { TagDeps } from './routes.ts';

const PAGE = 50;
const given = (text: string | undefined): string | undefined => (text === '' ? undefined : text);
const Body = Type.Object({
  id: Type.Optional(Type.String({ maxLength: 64 })),
  name: Type.String({ maxLength: 200 }),
  slug: Type.Optional(Type.String({ maxLength: 80 })),
  hue: Type.Optional(Type.Integer({ minimum: 0, maximum: 359 })),
  ...OpenedField,
});

/** /admin/tags. */
export function adminPages({ plugin, tags, counts }: TagDeps, admin: Admin): void {
  plugin.extend(adminSections, { group: 'content' as const, label: 'tags:title', href: '/admin/tags' });
  plugin.extend(
    auditRules,
    audited(tagSaved, ['tag.saved'], ({ id, name, actor }) => ({
      action: 'tag.saved',
      actor,
      subject: { type: 'tag', id },
      details: { name },
    })),
  );
  plugin.extend(
    auditRules,
    audited(tagDeleted, ['tag.deleted'], ({ id, into, actor }) => ({
      action: 'tag.deleted',
      actor,
      subject: { type: 'tag', id },
      details: into === undefined ? {} : { into },
    })),
  );
  const can = manageTags;

  interface Shown {
    readonly edited?: Tag | undefined;
    readonly page?: number | undefined;
    readonly retry?: Retry | undefined;
  }
  /** The list of tags by name, and below it the form for one tag or a new one. */
  const shown = ({ edited, page = 1, retry }: Shown): View => {
    const last = Math.max(1, Math.ceil(tags.all().length / PAGE));
    const pager = pagerOf(Math.min(page, last), last, '/admin/tags');
    const model = {
      tags: tags.all().slice((pager.page - 1) * PAGE, pager.page * PAGE),
      pager,
      edited,
      values: retry?.body ?? edited ?? {},
      opened: retry ? retry.body['_opened'] : edited && openedForm({ ...edited }),
      ...formErrors(retry),
    };
    return admin.view('@tags/admin', { title: phrase('tags:title'), noindex: true, current: '/admin/tags' }, model);
  };
  const rerender = (retry: Retry): View =>
    shown({ retry, edited: tags.all().find(({ id }) => id === retry.body['id']) });

  plugin.route(pages, {
    method: 'get',
    path: '/admin/tags',
    can,
    query: Type.Object({
      id: Type.Optional(Type.String()),
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
      ...Paging,
    }),
  })(async ({ actor, query: { id, page, ...paging } }) => {
    await tags.refresh();
    const listed = pageOf(tags.all(), paging);
    return negotiated(shown({ edited: tags.all().find((tag) => tag.id === id), page }), {
      success: true,
      tags: await counts.records(listed.items, actor),
      ...pageFields(listed),
    });
  });

  plugin.route(pages, {
    method: 'post',
    path: '/admin/tags/save',
    can,
    summary: 'Save a tag',
    options: { rerender },
    body: Body,
  })(async ({ actor, body }) => {
    await tags.refresh();
    const id = given(body.id);
    const { name, slug, hue } = touchedIn(body);
    const saved = await tags.save({ id, name, slug: given(slug), hue }, (changed) =>
      plugin.emit(tagSaved, { id: changed.id, name: changed.name, actor: actor.id }),
    );
    plugin.log.info({ tag: saved.id, name: saved.name }, 'a tag was saved');
    const [tag] = await counts.records([saved], actor);
    return negotiated(
      redirect('/admin/tags', { notice: phrase('tags:admin.saved', { name: saved.name }) }),
      { success: true, tag },
      id === undefined ? 201 : 200,
    );
  });

  plugin.route(pages, {
    method: 'post',
    path: '/admin/tags/delete',
    can,
    summary: 'tags:does.delete',
    options: { rerender, resendButton: true },
    body: Type.Object({ id: Type.String(), merge_into: Type.Optional(Type.String()) }),
  })(async ({ actor, body }) => {
    await tags.refresh();
    await tags.remove(body.id, given(body.merge_into?.trim()), (into) =>
      plugin.emit(tagDeleted, { id: body.id, into, actor: actor.id }),
    );
    plugin.log.info({ tag: body.id }, 'a tag was deleted');
    return negotiated(redirect('/admin/tags', { notice: phrase('tags:admin.removed') }), { success: true });
  });
}
