import { Type, type PluginHandle } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import { seeMembers } from 'parley-forum/plugins/members';
import { navigation, pages, phrase, shortcuts, view } from 'parley-forum/plugins/web';
import { SORTS, type DirectorySort, type MemberDirectory } from './directory.ts';
import { MAX_NAME } from './routes.ts';

interface PageDeps {
  readonly plugin: PluginHandle;
  readonly access: Access;
  readonly directory: MemberDirectory;
}
const LIST = '/members';
const PAGE_SIZE = 24;

const pathOf = (sort: DirectorySort, name: string | undefined, cursor?: string): string => {
  const query = new URLSearchParams({
    ...(sort !== 'newest' && { sort }),
    ...(name !== undefined && { name }),
    ...(cursor !== undefined && { cursor }),
  });
  return query.size === 0 ? LIST : `${LIST}?${query}`;
};

/** /members: all members as cards. */
export function addPages({ plugin, access, directory }: PageDeps): void {
  plugin.extend(
    navigation,
    {
      area: 'footer',
      label: 'members:title',
      href: LIST,
      visible: (viewer) => access.allows(viewer, seeMembers),
    },
    80,
  );
  plugin.extend(shortcuts, {
    id: 'members.list',
    keys: 'g m',
    label: 'members:keys.list',
    area: 'everywhere',
    href: LIST,
    visible: (viewer) => access.allows(viewer, seeMembers),
  });
  plugin.route(pages, {
    method: 'get',
    path: LIST,
    can: seeMembers,
    query: Type.Object({
      sort: Type.Optional(Type.Enum([...SORTS])),
      name: Type.Optional(Type.String({ maxLength: MAX_NAME })),
      cursor: Type.Optional(Type.String({ maxLength: 300 })),
    }),
  })(async ({ actor, query: { sort = 'newest', name: given = '', cursor } }) => {
    const name = given.trim() === '' ? undefined : given.trim();
    const sorts = SORTS.filter((one) => one !== 'posts' || name === undefined);
    const current = sorts.find((one) => one === sort) ?? 'newest';
    const { items, nextCursor } = await directory.list({ sort: current, name, limit: PAGE_SIZE, cursor }, actor);
    const head = {
      name: 'members',
      title: phrase('members:title'),
      canonical: LIST,
      ...(query(name, cursor) && { noindex: true }),
    };
    return view('@members/list', head, {
      members: items,
      name,
      sort: current,
      longest: MAX_NAME,
      more: cursor !== undefined,
      sorts: sorts.map((one) => ({ label: `members:sort.${one}`, href: pathOf(one, name), current: one === current })),
      next: nextCursor !== undefined && pathOf(current, name, nextCursor),
    });
  });
}

/** Whether the page is one of very many that search engines need not index. */
const query = (name: string | undefined, cursor: string | undefined): boolean =>
  name !== undefined || cursor !== undefined;
