import { Type } from 'parley-forum';
import type { Access, Audience, Viewer } from 'parley-forum/plugins/access';
import { pageFields, pageOf, Paging } from 'parley-forum/plugins/api';
import { adminSections, type Admin } from 'parley-forum/plugins/admin';
import { audited, auditRules } from 'parley-forum/ports/audit';
import {
  categoryDeleted,
  categoryFields,
  categorySaved,
  manageCategories,
  type Category,
} from 'parley-forum/plugins/discussions';
import {
  draftOf,
  formErrors,
  negotiated,
  OpenedField,
  openedForm,
  pages,
  phrase,
  redirect,
  touchedIn,
  type FormDraft,
  type Retry,
  type View,
  type Web,
} from 'parley-forum/plugins/web';
import { CategoryBody, plainCategory, withFields } from '../schemas.ts';
import { audienceName } from './audience-names.ts';
import { fieldSaves } from '../writing/drafts.ts';
import { shownFields } from '../writing/opened-form.ts';
import { queryOf, type PageDeps } from '../page-parts.ts';

const AUDIENCE_WORDS = ['everyone', 'members', 'staff'] as const;
/** Names of the 24 steps around the colour wheel, starting at 0°. */
const HUES = [
  'pink',
  'rose',
  'red',
  'orange',
  'amber',
  'gold',
  'yellow',
  'olive',
  'lime',
  'leaf',
  'green',
  'emerald',
  'teal',
  'petrol',
  'cyan',
  'sky',
  'azure',
  'blue',
  'indigo',
  'violet',
  'purple',
  'plum',
  'magenta',
  'fuchsia',
] as const;
const given = (text: string | null | undefined): string | undefined =>
  text === '' || text === null ? undefined : text;

/** Parses an audience word or group ids: a form's select has them separated by spaces, API clients send an array. */
function audienceOf(value: string | readonly string[] | undefined): Audience | undefined {
  if (value === undefined || Array.isArray(value)) return value as Audience | undefined;
  return AUDIENCE_WORDS.find((word) => word === value) ?? (value as string).split(' ');
}
const choiceOf = (audience: Audience): string => (typeof audience === 'string' ? audience : audience.join(' '));

interface Option {
  readonly value: string | number;
  readonly label: string;
}
/**
 * Adds the stored values to the options: a form that does not offer them would display something else, and overwrite
 * them when saved.
 */
const withStored = (options: readonly Option[], stored: readonly Option[]): readonly Option[] => [
  ...options,
  ...stored.filter(
    ({ value }, at) =>
      !options.some((one) => one.value === value) && stored.findIndex((one) => one.value === value) === at,
  ),
];

/** /admin/categories. */
export function adminPages(
  { plugin, categories, records }: PageDeps,
  { admin, access, web }: { admin: Admin; access: Access; web: Web },
): void {
  plugin.extend(adminSections, {
    group: 'content' as const,
    label: 'discussions:categories.title',
    href: '/admin/categories',
  });
  const subject = (id: string): { readonly type: string; readonly id: string } => ({ type: 'category', id });
  plugin.extend(
    auditRules,
    audited(categorySaved, ['category.saved'], ({ id, name, actor }) => ({
      action: 'category.saved',
      actor,
      subject: subject(id),
      details: { name },
    })),
  );
  plugin.extend(
    auditRules,
    audited(categoryDeleted, ['category.deleted'], ({ id, into, actor }) => ({
      action: 'category.deleted',
      actor,
      subject: subject(id),
      details: into === undefined ? {} : { into },
    })),
  );
  const can = manageCategories;
  const say = (key: string): string => web.say(phrase(`discussions:${key}`));

  /** The form for the category in `typed`, or for a new one, with the list below it. */
  const shown = (draft: FormDraft, edited: Category | undefined): View => {
    const groups = access
      .groups()
      .filter(({ builtIn }) => !builtIn)
      .map(({ id, name }) => ({ value: id, label: name }));
    const namesOf = (audience: Audience): string => audienceName(audience, access, web);
    const chosen = edited ? [edited.view, edited.create, edited.reply] : [];
    const audiences = withStored(
      [...AUDIENCE_WORDS.map((word) => ({ value: word, label: say(`audience.${word}`) })), ...groups],
      chosen.map((one) => ({ value: choiceOf(one), label: namesOf(one) })),
    );
    const parent = categories.all().find(({ id }) => id === edited?.parentId);
    const roots = categories.all().filter(({ id, parentId }) => parentId === null && id !== edited?.id);
    const model = {
      ...formErrors(draft),
      values: draft.values,
      opened: draft.values['_opened'],
      extra: { category: edited, values: draft.values },
      edited: edited && plainCategory(edited),
      audiences,
      hues: withStored(
        HUES.map((name, step) => ({ value: step * 15, label: say(`hue.${name}`) })),
        edited ? [{ value: edited.hue, label: `${edited.hue}°` }] : [],
      ),
      parents: withStored(
        [{ value: '', label: '–' }, ...roots.map(({ id, name }) => ({ value: id, label: name }))],
        parent ? [{ value: parent.id, label: parent.name }] : [],
      ),
      others: [
        { value: '', label: '–' },
        ...categories
          .all()
          .filter(({ id }) => id !== edited?.id)
          .map(({ id, name }) => ({ value: id, label: name })),
      ],
      categories: categories.all().map((category) => ({
        ...plainCategory(category),
        href: `/admin/categories?id=${category.id}`,
        audiences: [category.view, category.create, category.reply].map(namesOf).join(' · '),
      })),
    };
    return admin.view(
      '@discussions/admin-categories',
      { title: phrase('discussions:categories.title'), noindex: true },
      model,
    );
  };
  const valuesOf = (category: Category | undefined): FormDraft['values'] =>
    category
      ? {
          ...plainCategory(category),
          view: choiceOf(category.view),
          create: choiceOf(category.create),
          reply: choiceOf(category.reply),
        }
      : { hue: 195, position: categories.all().length, view: 'everyone', create: 'members', reply: 'members' };
  const initialValues = async (category: Category | undefined, viewer: Viewer): Promise<FormDraft['values']> => {
    const values = valuesOf(category);
    const [record] = category ? await records.categories([category], viewer) : [];
    if (!record) return values;
    const others = shownFields(plugin.extensions(categoryFields), { ...record });
    return { ...values, _opened: openedForm({ ...values, ...others }) };
  };
  const rerender = (retry: Retry): View =>
    shown(
      draftOf(retry),
      categories.all().find(({ id }) => id === retry.body['id']),
    );

  plugin.route(pages, {
    method: 'get',
    path: '/admin/categories',
    can,
    query: Type.Object(Paging),
  })(async ({ actor, req, query }) => {
    await categories.refresh();
    const edited = categories.all().find(({ id }) => id === queryOf(req)['id']);
    const page = pageOf(categories.all().map(plainCategory), query);
    return negotiated(shown({ values: await initialValues(edited, actor) }, edited), {
      success: true,
      categories: page.items,
      ...pageFields(page),
    });
  });

  plugin.route(pages, {
    method: 'post',
    path: '/admin/categories/save',
    can,
    summary: 'Save a category',
    options: { rerender },
    body: withFields(plugin, categoryFields, Type.Object({ ...CategoryBody.properties, ...OpenedField }), 'body'),
  })(async ({ actor, body }) => {
    await categories.refresh();
    const id = given(body.id);
    const changes = touchedIn(body);
    const fields = fieldSaves(plugin.extensions(categoryFields), changes, actor);
    const category = await categories.save(
      withoutUndefined({
        id,
        name: changes.name,
        slug: given(changes.slug),
        description: changes.description,
        hue: changes.hue,
        icon: changes.icon,
        position: changes.position,
        parentId: changes.parent_id === undefined ? undefined : (given(changes.parent_id) ?? null),
        view: audienceOf(changes.view),
        create: audienceOf(changes.create),
        reply: audienceOf(changes.reply),
      }),
      async ({ id, name }, em) => {
        for (const save of fields) await save(em, id);
        await plugin.emit(categorySaved, { id, name, actor: actor.id });
      },
    );
    plugin.log.info({ category: category.id, name: category.name }, 'a category was saved');
    const status = id === undefined ? 201 : 200;
    return negotiated(
      redirect('/admin/categories', { notice: phrase('discussions:admin.saved', { name: category.name }) }),
      { success: true, category: plainCategory(category) },
      status,
    );
  });

  plugin.route(pages, {
    method: 'post',
    path: '/admin/categories/delete',
    can,
    summary: 'discussions:does.delete-category',
    options: { rerender, resendButton: true },
    body: Type.Object({ id: Type.String(), move_to: Type.Optional(Type.String()) }),
  })(async ({ actor, body }) => {
    await categories.refresh();
    const into = given(body.move_to);
    await categories.remove(body.id, into, () => plugin.emit(categoryDeleted, { id: body.id, into, actor: actor.id }));
    plugin.log.info({ category: body.id }, 'a category was deleted');
    return negotiated(redirect('/admin/categories', { notice: phrase('discussions:admin.removed') }), {
      success: true,
    });
  });
}

/** Removes undefined properties: the service's type distinguishes absent from undefined. */
const withoutUndefined = <T extends object>(value: T): { readonly [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, own]) => own !== undefined)) as {
    readonly [K in keyof T]: Exclude<T[K], undefined>;
  };
