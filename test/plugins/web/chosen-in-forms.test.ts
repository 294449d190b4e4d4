import { expect, test } from 'vitest';
import { useForum, type Name } from '../discussions/forum.ts';
import { formPairs, type Chosen } from './form-fields.ts';

const forum = useForum();
type Pairs = ReturnType<typeof formPairs>;

/** No one may require of all staff what they have not set up themselves. */
const LOCKS_OUT = 'two_factor.required_for_staff';

/** As browsers send it: every field with a value, in order. */
const send = (name: Name, action: string, pairs: Pairs) =>
  forum.as[name].request('POST', action, {
    body: new TextEncoder().encode(new URLSearchParams([...pairs]).toString()),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-csrf-token': new Map(pairs).get('_csrf') ?? '',
    },
  });
const open = async (name: Name, page: string): Promise<string> => {
  const { status, text } = await forum.as[name].get(page);
  expect([name, page, status]).toEqual([name, page, 200]);
  return text;
};
/** The choices that a form shows, without its token, its initial values, and the blanks that mark a list as empty. */
const shown = (pairs: Pairs): readonly string[] =>
  pairs
    .filter(
      ([name, value]) => !['_csrf', '_opened', LOCKS_OUT].includes(name) && !(name.endsWith('[]') && value === ''),
    )
    .map(([name, value]) => `${name}=${value.replaceAll('\r\n', '\n')}`);

/** Chooses and types in the form of a page; when it is refused, all of that is preserved. */
async function refuse(
  name: Name,
  page: string,
  action: string,
  how: Chosen,
  typed: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly again: Pairs }> {
  const opened = formPairs(await open(name, page), action, how).filter(([field]) => field !== LOCKS_OUT);
  const pairs = opened.map(([field, value]): [string, string] => [field, typed[field] ?? value]);
  const { status, text } = await send(
    name,
    action,
    pairs.map(([field, value]) => [field, field === '_csrf' ? 'wrong' : value]),
  );
  const again = formPairs(text, action).filter(([field]) => field !== LOCKS_OUT);
  expect([page, how, ...shown(again)]).toEqual([page, how, ...shown(pairs)]);
  return { status, again };
}

/** The same, then submits the form again; the page shows what was sent when it is reopened. */
async function choose(
  name: Name,
  page: string,
  action: string,
  how: Chosen,
): Promise<readonly [refused: number, sent: number]> {
  const { status: refused, again } = await refuse(name, page, action, how);
  const { status, text } = await send(name, action, again);
  expect([page, how, /<li><a href="#f-[^<]*/.exec(text)?.[0]]).toEqual([page, how, undefined]);
  expect([page, how, ...shown(formPairs(await open(name, page), action))]).toEqual([page, how, ...shown(again)]);
  return [refused, status];
}

const HOW = ['otherwise', 'all', 'none'] as const;
const OWN = ['privacy', 'messages', 'notifications', 'language', 'appearance'].map((name) => `/settings/${name}`);

test.each(OWN)('%s shows what a member chose', async (path) => {
  for (const how of HOW)
    expect(await choose('bob', path, path === '/settings/appearance' ? '/appearance' : path, how)).toEqual([403, 303]);
});

test('each group of settings shows what was chosen', async () => {
  const { body } = await forum.as.root.get('/admin/settings', { accept: 'application/json' });
  const groups = new Set<string>(body.settings.map((setting: any) => setting.group));
  for (const group of groups)
    for (const how of HOW)
      expect(await choose('root', `/admin/settings/${group}`, '/admin/settings/save', how)).toEqual([403, 303]);
});

test('records in the admin panel show what was chosen', async () => {
  const make = async (path: string, form: object): Promise<any> => {
    const answer = await forum.as.root.request('POST', path, { json: form, headers: { accept: 'application/json' } });
    expect([path, answer.status, answer.text]).toEqual([path, expect.toBeOneOf([200, 201]), expect.any(String)]);
    return answer.body;
  };
  const { category } = await make('/admin/categories/save', { name: 'Sails' });
  const { tag } = await make('/admin/tags/save', { name: 'mainsail' });
  await make('/admin/reactions/save', { slug: 'octopus', emoji: '🐙', label: 'Octopus' });
  const { webhook } = await make('/admin/webhooks/save', {
    name: 'Bell',
    url: 'https://example.org/hook',
    events: ['post.created'],
  });
  const { provider } = await make('/admin/single-sign-on/save', {
    name: 'Club',
    slug: 'club',
    issuer: 'https://id.example',
    client_id: 'forum',
    client_secret: 'hush',
  });
  for (const how of HOW) {
    expect(await choose('root', `/admin/categories?id=${category.id}`, '/admin/categories/save', how)).toEqual([
      403, 303,
    ]);
    expect(await choose('root', `/admin/tags?id=${tag.id}`, '/admin/tags/save', how)).toEqual([403, 303]);
    expect(await choose('root', '/admin/reactions?slug=octopus', '/admin/reactions/save', how)).toEqual([403, 303]);
    expect(await choose('root', `/admin/single-sign-on?id=${provider.id}`, '/admin/single-sign-on/save', how)).toEqual([
      403, 303,
    ]);
  }
  // It requires an event.
  for (const how of ['otherwise', 'all'] as const)
    expect(await choose('root', `/admin/webhooks?id=${webhook.id}`, '/admin/webhooks/save', how)).toEqual([403, 303]);
});

test('a discussion and a member show what staff chose, and refused forms preserve it', async () => {
  const { number, postId } = await forum.start('ada', 'Reefing');
  const { id } = (await forum.as.bob.post('/api/reports', { post_id: postId, reason: 'abuse' })).body.report;
  const { message } = (await forum.as.bob.post('/api/conversations', { to: ['ada'], subject: 'Hail', content: 'Hi' }))
    .body;
  const reported = (await forum.as.ada.post('/api/message-reports', { message_id: message.id, reason: 'abuse' })).body;
  const mod = { note: 'Noted', reason: 'It is so', content: 'Seen' };
  const forms: readonly (readonly [Name, page: string, action: string, typed?: Readonly<Record<string, string>>])[] = [
    ['root', `/d/${number}/move`, `/d/${number}/move`],
    ['bob', `/p/${postId}/report`, `/p/${postId}/report`],
    ['root', '/new', '/new'],
    ['root', '/mod/discussions', '/mod/discussions'],
    ['root', '/mod/members/bob', '/mod/members/bob/warn'],
    ['root', '/admin/users?q=bob', '/admin/users/save'],
    ['bob', '/settings/security', '/settings/security/password'],
    ['bob', '/settings/privacy/delete', '/settings/privacy/delete'],
    ['root', `/mod/reports/${id}`, `/mod/reports/${id}`, mod],
    ['root', `/mod/reports/${id}`, `/mod/reports/${id}/notes`, mod],
    ['root', `/mod/message-reports/${reported.report.id}`, `/mod/message-reports/${reported.report.id}`, mod],
  ];
  for (const how of HOW) {
    expect(await choose('root', `/d/${number}/edit`, `/d/${number}/edit`, how)).toEqual([403, 303]);
    for (const [name, page, action, typed] of forms)
      expect([page, (await refuse(name, page, action, how, typed)).status]).toEqual([page, 403]);
  }
});
