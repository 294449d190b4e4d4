import { expect, test } from 'vitest';
import type { RouteInfo } from 'parley-forum';
import { encodeCursor } from 'parley-forum/plugins/api';
import { nameOf, useWorld } from './world.ts';

const world = useWorld();
const ID = '01a21491-9471-7011-94e9-4f0f99aa7b9e';

/** Also in no cursor of a list: dates that JavaScript or PostgreSQL cannot represent, and texts that no row has. */
const KEYS = [
  0,
  -1,
  0.5,
  1.7e12,
  -6.3e13,
  -8.64e15,
  8.64e15,
  1e308,
  2 ** 31,
  Number.MAX_SAFE_INTEGER,
  '2026-02-30 00:00:00+00',
  '2026-11-25 (about noon)',
  'Thu, 01 Jan 1970 00:00:00 GMT+0200',
  'a\0',
  '\ud800',
];

interface Schema {
  readonly properties?: Readonly<Record<string, { readonly enum?: readonly string[] }>>;
}
const queryOf = ({ query }: RouteInfo) => (query as Schema | undefined)?.properties ?? {};

test('a forged cursor is refused or leads somewhere, and never causes a server error', async () => {
  const { discussion, post_id: post } = await world.must('ada', 'POST', '/discussions', {
    body: { title: 'A target', content: 'x', category_id: 'general', tags: ['boats'] },
  });
  const { conversation } = await world.must('root', 'POST', '/conversations', {
    body: { to: ['ada'], subject: 'A target', content: 'x' },
  });
  const paramsOf = (path: string): Readonly<Record<string, string>> => {
    const named = {
      posts: post as string,
      tags: 'boats',
      discussions: String(discussion.number),
      conversations: conversation.id as string,
    };
    const id = Object.entries(named).find(([kind]) => path.startsWith(`/${kind}`))?.[1] ?? 'general';
    return { id, slug: id, post_id: post };
  };
  const lists = world.routes().filter((route) => route.method === 'get' && 'cursor' in queryOf(route));
  const faults: string[] = [];
  const refused = new Set<string>();
  for (const route of lists) {
    const { cursor: _, q, sort } = queryOf(route);
    for (const order of sort?.enum ?? [undefined]) {
      const cursors = KEYS.flatMap((key) => [[key], [key, ID], [order ?? 'latest', key, ID], ['pinned', 1, key, ID]]);
      for (const keys of cursors) {
        const query = { cursor: encodeCursor(keys), ...(q && { q: 'target' }), ...(order && { sort: order }) };
        const { status } = await world.call('root', 'GET', route.path, { params: paramsOf(route.path), query });
        if (status >= 500) faults.push(`${nameOf(route)} ${order ?? ''} ${JSON.stringify(keys)}: ${status}`);
        if (status === 400) refused.add(nameOf(route));
      }
    }
  }
  expect(faults).toEqual([]);
  expect([...refused]).toEqual(lists.map(nameOf));
});
