import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { deflateSync, crc32 } from 'node:zlib';
import type { Child } from './child.ts';
import type { Prepared } from './data.ts';
import { AGENT, type Member } from './reads.ts';
import type { Result } from './report.ts';

/** What one request within its limits may cost the process, and how large its answer may be. */
const LONGEST_HOLD = 50;
const LARGEST_ANSWER = 2;
/**
 * Each input is sent so often, and its least hold counts: what else the machine does meanwhile only ever adds to one.
 */
const TURNS = 5;
const QUICK_TURNS = 3;
/** Milliseconds after which a stream that stays open has said all that belongs to its beginning. */
const BEGINNING = 300;

/** Discussions whose excerpts take as long as any: as many as a page of the API has. */
const COSTLY = 100;

const KIB = 1024;
const MIB = 1024 ** 2;
/** A request's head may have 16 KiB; the rest of it is the line, the host and the session. */
const HEAD = 14 * KIB;

interface Input {
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** The answer does not end by itself. */
  readonly open?: boolean;
}
type Inputs = Readonly<Record<string, Input>>;
interface Row {
  readonly name: string;
  readonly as: 'guest' | 'member';
  readonly inputs: Inputs;
}
type Headers = Readonly<Record<string, string>>;

const fill = (piece: string, length: number): string => piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
const list = (piece: (index: number) => string, count: number): string =>
  Array.from({ length: count }, (_, index) => piece(index)).join(',');

/** Bodies of forms that hold as many fields, levels and signs as they may. */
const forms = (length: number): Readonly<Record<string, string>> => ({
  'a&a': fill('a&', 1_998),
  'many names': Array.from({ length: 998 }, (_, n) => `a${n}=${fill('x', length / 1_000 - 8)}`).join('&'),
  '%': fill('%', length),
  '%25': `identifier=${fill('%25', length - 20)}`,
  '[': fill('[', length),
  'a[[': `a${fill('[', length - 4)}=1`,
  '&': fill('&', length),
  '+': `content=${fill('+', length - 20)}`,
  lists: Array.from({ length: 998 }, (_, n) => `a[${n % 10}][${n % 50}]=1`).join('&'),
  'one list': fill('a[]=1&', 499 * 6),
  '%ff': `content=${fill('%ff', length - 20)}`,
  'one letter': `content=${fill('x', length - 20)}`,
});

const json = (length: number): Readonly<Record<string, string>> => ({
  values: `[${fill('0,', 19_990)}0]`,
  keys: `{${list((n) => `"k${n}":1`, 9_990)}}`,
  'a list for a text': `{"content":[${fill('0,', 19_990)}0],"ids":[${list((n) => String(n), 100)}]}`,
  objects: `[${fill('{},', 4_990 * 3)}{}]`,
  depth: fill('[', 64) + fill(']', 64),
  escapes: `{"content":"${fill('\\u0061', length - 40)}"}`,
  'a prototype': `{"__proto__":1,${list((n) => `"k${n}":"${fill('x', length / 10_000 - 14)}"`, 9_900)}}`,
  quotes: `{"content":"${fill('\\"', length - 40)}"}`,
  'long name': `{"${fill('x', length - 40)}":1}`,
  'long number': `{"content":1${fill('0', length - 40)}}`,
});

/** Texts of so many characters that take as long as any. */
const texts = (size: number): Readonly<Record<string, string>> => ({
  table: `a|b\n-|-\n${fill('|\n', size - 20)}`,
  cells: `${fill('a|', 100)}\n${fill('-|', 100)}\n${fill(`${fill('|', 50)}\n`, size * 0.9)}`,
  stars: fill('*a ', size),
  'stars and lines': fill('*a_b', size),
  brackets: fill('[', size),
  links: fill('[a](', size),
  quotations: fill('> ', size),
  lists: fill('- ', size),
  ticks: Array.from({ length: 350 }, (_, n) => '`'.repeat(n)).join(' '),
  entities: fill('&amp;', size),
  '&': fill('&', size),
  mentions: fill('@bench-member ', size),
  'many mentions': Array.from({ length: 4_000 }, (_, n) => `@member${n}`)
    .join(' ')
    .slice(0, size),
  hosts: fill('https://a.b ', size),
  emoji: fill(':+1:😀', size * 0.9),
  headings: fill('# a\n', size),
  tasks: fill('- [x] a\n', size),
  references: fill('[a]: /b\n', size),
  pictures: fill('![a](/uploads/a)', size),
  spaces: `${fill(' ', size - 3)}a`,
  lines: `a${fill('\n', size - 3)}b`,
});

const searches = (): readonly string[] => [
  fill('a ', 256),
  fill('-a ', 256),
  fill('"a" ', 256),
  fill('"', 256),
  fill('author:a ', 256),
  fill('tag:a ', 256),
  fill('category:a ', 256),
  fill('after:2026-01-01 ', 256),
  fill('or ', 256),
  fill('%_', 256),
  fill('the a of ', 256),
  fill('ab:*&|!()<->', 256),
  fill('😀', 256),
  fill('é\u0301', 256),
  'post',
  'e',
  fill('measured ', 250),
];

const encode = encodeURIComponent;
const each = <V>(values: Readonly<Record<string, V>>, input: (value: V) => Input): Inputs =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, input(value)]));
const JSON_TYPE = { 'content-type': 'application/json' };
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };

function png(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const whole = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(whole));
    return Buffer.concat([length, whole, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([1, 0, 0, 0, 0], 8);
  const rows = deflateSync(Buffer.alloc((Math.ceil(width / 8) + 1) * height));
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', head),
    chunk('IDAT', rows),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const multipart = (path: string, ...parts: readonly (string | Buffer)[]): Input => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'multipart/form-data; boundary=b' },
  body: Buffer.concat([...parts.map((part) => Buffer.from(part)), Buffer.from('\r\n--b--\r\n')]),
});
const part = (disposition: string, more = ''): string =>
  `\r\n--b\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n`;
const filePart = (name = 'a.png'): string => part(`name="file"; filename="${name}"`, 'Content-Type: image/png\r\n');

function uploads(path: string): Inputs {
  return {
    'a picture of many pixels': multipart(path, filePart(), png(6_000, 4_000)),
    'too many pixels': multipart(path, filePart(), png(60_000, 60_000)),
    'broken bytes': multipart(path, filePart(), png(100, 100).subarray(0, 40), Buffer.alloc(4 * MIB)),
    'line ends': multipart(path, filePart('a.txt'), fill('\r\n', 4 * MIB)),
    'almost ends': multipart(path, filePart('a.txt'), fill('\r\n--', 4 * MIB)),
    'many parts': multipart(path, ...Array.from({ length: 5_000 }, (_, n) => `${part(`name="a${n}"`)}x`)),
    'a long field': multipart(path, part('name="a"'), fill('x', 2 * MIB)),
    'a long name': multipart(path, filePart(fill('a.', 8 * KIB)), 'x'),
    'many headers': multipart(path, part('name="a"', fill('A: b\r\n', 12 * KIB)), 'x'),
  };
}

const HEADERS: Readonly<Record<string, Headers>> = {
  'If-None-Match': { 'if-none-match': fill('W/"a",', HEAD) },
  'If-None-Match of commas': { 'if-none-match': fill(',', HEAD) },
  'If-None-Match of spaces': { 'if-none-match': `"a"${fill(' ', HEAD)}x` },
  'If-Match': { 'if-match': fill('"', HEAD) },
  'Accept-Language': { 'accept-language': fill('de-DE;q=0.5,', HEAD) },
  'Accept-Language of commas': { 'accept-language': fill(',', HEAD) },
  Accept: { accept: fill('text/html;q=0.1,', HEAD) },
  'Accept-Encoding': { 'accept-encoding': fill('br;q=0.1,', HEAD) },
  Cookie: { cookie: fill('a=b;', HEAD) },
  'Cookie of signs': { cookie: fill(';', HEAD) },
  'Cookie of preferences': { cookie: `appearance=${fill('A', HEAD)}` },
  Authorization: { authorization: `Bearer ${fill('x', HEAD)}` },
  'X-Forwarded-For': { 'x-forwarded-for': fill('1.2.3.4,', HEAD) },
  'User-Agent': { 'user-agent': fill('bot/1.0 (', HEAD) },
  'User-Agent of spaces': { 'user-agent': `Mozilla${fill(' ', HEAD)}x` },
  Range: { range: `bytes=${fill('0-1,', HEAD)}` },
  'Cache-Control': { 'cache-control': fill('no-cache,', HEAD) },
  'If-Modified-Since': { 'if-modified-since': fill('1', HEAD) },
  Referer: { referer: `http://127.0.0.1/${fill('%41', HEAD)}` },
  'many headers': Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`x${n}`, 'abcdef'])),
};

/** A discussion of long posts, the last of them with a history, and its category. */
interface Heavy {
  readonly number: number;
  readonly post: string;
  readonly category: string;
  /** Discussions of short texts whose excerpts take as long as any. */
  readonly costly: readonly { readonly id: string; readonly number: number }[];
}

/**
 * Everything a guest or a member can send, each as bad as it may be. The rows of "Bounds of input" in docs/security.md.
 */
function rowsOf({ short, long, discussions }: Prepared, heavy: Heavy): readonly Row[] {
  const post =
    (path: string, headers: Headers) =>
    (body: string): Input => ({ method: 'POST', path, headers, body });
  const get = (path: string): Input => ({ path });
  const words = Object.fromEntries(searches().map((q, index) => [`${index}: ${q.slice(0, 12)}`, q]));
  const junk = fill(Buffer.from(`["${fill('9', 370)}"]`).toString('base64url'), 512);
  const ids = list((n) => `"${`0199${n}`.padEnd(26, '0')}"`, 1_000);
  const [discussion = ''] = discussions;
  const query = fill('a[b]=%41&limit=1&', HEAD);
  return [
    {
      name: 'forms of guests',
      as: 'guest',
      inputs: {
        ...each(forms(64 * KIB - 200), post('/login', FORM_TYPE)),
        ...Object.fromEntries(
          Object.entries(each(forms(64 * KIB - 200), post('/register', FORM_TYPE))).map(([name, input]) => [
            `sign-up: ${name}`,
            input,
          ]),
        ),
      },
    },
    {
      name: 'forms with a long text',
      as: 'member',
      inputs: each(forms(MIB - 200), post(`/d/${short}/reply`, FORM_TYPE)),
    },
    { name: 'JSON of guests', as: 'guest', inputs: each(json(MIB - 200), post('/api/markdown/parse', JSON_TYPE)) },
    {
      name: 'JSON of members',
      as: 'member',
      inputs: {
        ...each(json(MIB - 200), post('/api/posts', JSON_TYPE)),
        '1,000 ids': post('/api/notifications/mark-read', JSON_TYPE)(`{"ids":[${ids}]}`),
        'ids that are none': post('/api/notifications/mark-read', JSON_TYPE)(`{"ids":[${fill('1,', 1_998)}1]}`),
      },
    },
    {
      name: 'lists of tags',
      as: 'member',
      inputs: each(
        {
          many: `[${list((n) => `"t${n}"`, 100)}]`,
          'too many': `[${list((n) => `"t${n}"`, 9_000)}]`,
          'a long text': `"${fill('a,', 60 * KIB)}"`,
          'long names': `[${list(() => `"${fill('é\\u0301', 8 * KIB)}"`, 100)}]`,
        },
        (value) =>
          post(
            '/api/discussions',
            JSON_TYPE,
          )(`{"title":"A title that is long enough","content":"x","category_id":"none","tags":${value}}`),
      ),
    },
    {
      name: 'previews of guests',
      as: 'guest',
      inputs: each(texts(8 * KIB), (content) => post('/api/markdown/parse', JSON_TYPE)(JSON.stringify({ content }))),
    },
    {
      name: 'posts and previews of members',
      as: 'member',
      inputs: {
        ...each(texts(64 * KIB), (content) =>
          post('/api/posts', JSON_TYPE)(JSON.stringify({ content, discussion_id: discussion })),
        ),
        'a preview': post('/api/markdown/parse', JSON_TYPE)(JSON.stringify({ content: texts(64 * KIB)['table'] })),
      },
    },
    {
      name: 'titles',
      as: 'member',
      inputs: each(
        {
          'too long': fill('x', 60 * KIB),
          spaces: `${fill(' ', 60 * KIB)}x`,
          longest: fill('x ', 200),
          marks: fill('é\u0301\u200d', 200),
          signs: fill('😀', 200),
        },
        (title) =>
          post('/api/discussions', JSON_TYPE)(JSON.stringify({ title, content: 'x', category_id: heavy.category })),
      ),
    },
    {
      name: 'addresses and query strings',
      as: 'guest',
      inputs: {
        'many of one': get(`/api/discussions?${fill('limit=1&', HEAD)}`),
        brackets: get(`/discussions?${query}`),
        'of the API': get(`/api/discussions?${query}`),
        signs: get(`/search?${fill('&', HEAD)}`),
        '%': get(`/api/discussions?category_id=${fill('%41', HEAD)}`),
        'a long path': get(`/d/${fill('a', HEAD)}`),
        slashes: get(fill('/', HEAD)),
        'many parts': get(fill('/a', HEAD)),
        'of the API, many parts': get(`/api${fill('/a', HEAD)}`),
        dots: get(fill('/..', HEAD)),
        'a name': get(`/u/${fill('%C3%A9', HEAD)}`),
        'a file': get(`/assets/${fill('a/', HEAD)}`),
        'an upload': get(`/uploads/${fill('a', HEAD)}`),
        next: get(`/login?next=${fill('%2F', HEAD)}`),
      },
    },
    {
      name: 'headers and cookies',
      as: 'guest',
      inputs: {
        ...each(HEADERS, (headers) => ({ path: '/', headers })),
        ...Object.fromEntries(
          Object.entries(HEADERS).map(([name, headers]) => [
            `${name} to the API`,
            { path: '/api/discussions', headers },
          ]),
        ),
        'Range of a file': { path: '/feed/rss', headers: HEADERS['Range']! },
      },
    },
    {
      name: 'searches',
      as: 'guest',
      inputs: {
        ...each(words, (q) => get(`/api/search?limit=100&q=${encode(q.slice(0, 256))}`)),
        ...Object.fromEntries(
          Object.entries(words).flatMap(([name, q]) => [
            [`page ${name}`, get(`/search?q=${encode(q.slice(0, 256))}`)],
            [`posts ${name}`, get(`/api/search?type=posts&limit=100&q=${encode(q.slice(0, 256))}`)],
          ]),
        ),
        'a name': get(`/api/users/search?q=${encode(fill('%_', 100))}`),
      },
    },
    {
      name: 'limits, offsets and cursors',
      as: 'guest',
      inputs: Object.fromEntries(
        [
          '/api/discussions',
          '/api/events',
          '/api/tags',
          '/api/users/search?q=e',
          `/api/discussions/${long}`,
          `/api/discussions/${long}/posts`,
          '/api/search?q=post',
        ].flatMap((path) => {
          const sign = path.includes('?') ? '&' : '?';
          return Object.entries({
            limit: 'limit=100',
            'far off': 'limit=100&offset=9007199254740991',
            'rather far off': 'limit=100&offset=10000',
            cursor: `cursor=${junk}`,
          }).map(([name, more]) => [`${path} ${name}`, get(path + sign + more)]);
        }),
      ),
    },
    {
      name: 'pages of lists',
      as: 'guest',
      inputs: each(
        {
          first: '/',
          far: '/discussions?page=1000000',
          long: `/d/${long}`,
          tags: '/tags',
          tag: '/t/measured',
          categories: '/categories',
          online: '/online',
          sitemap: '/sitemap.xml',
          docs: '/api/docs',
          openapi: '/api/openapi.json',
        },
        get,
      ),
    },
    {
      name: 'long posts',
      as: 'guest',
      inputs: each(
        {
          page: `/d/${heavy.number}`,
          print: `/d/${heavy.number}/print`,
          'many to print': `/d/${long}/print`,
          api: `/api/discussions/${heavy.number}?limit=100`,
          posts: `/api/discussions/${heavy.number}/posts?limit=100`,
          'one post': `/api/posts/${heavy.post}`,
          history: `/p/${heavy.post}/history`,
          revisions: `/api/posts/${heavy.post}/revisions?limit=100`,
          found: '/api/search?q=heavy&limit=100&type=posts',
        },
        get,
      ),
    },
    {
      name: 'feeds',
      as: 'guest',
      inputs: each(
        {
          rss: '/feed/rss',
          atom: '/feed/atom',
          json: '/feed/json',
          'a long name': `/rss/tag/${fill('a', HEAD)}`,
          'a tag': '/atom/tag/measured',
          token: `/feed/rss?token=${fill('x', HEAD)}`,
        },
        get,
      ),
    },
    {
      name: 'keys of idempotency',
      as: 'member',
      inputs: each({ long: fill('k', HEAD), longest: fill('k', 255), spaces: `k${fill(' ', HEAD)}k` }, (key) => ({
        ...post('/api/posts', { ...JSON_TYPE, 'idempotency-key': key })(
          JSON.stringify({ content: fill('word ', 60 * KIB), discussion_id: discussion }),
        ),
      })),
    },
    {
      name: 'event streams',
      as: 'guest',
      inputs: {
        plain: { path: '/api/live', open: true },
        'of many names': { path: `/api/live?events=${fill('post.created,', HEAD - 1)}e`, open: true },
        'from long ago': { path: '/api/live?after=0', headers: { 'last-event-id': '1' }, open: true },
        'a long id': { path: '/api/live', headers: { 'last-event-id': fill('9', HEAD) }, open: true },
      },
    },
    {
      name: 'signed webhooks',
      as: 'guest',
      inputs: each(
        {
          unsigned: {},
          hub: { 'x-hub-signature-256': `sha256=${fill('0', HEAD)}` },
          standard: { 'webhook-id': 'a', 'webhook-timestamp': '1', 'webhook-signature': fill('v1,AAAA ', HEAD) },
        } as Readonly<Record<string, Headers>>,
        (headers) => post('/api/webhooks', { ...JSON_TYPE, ...headers })(`[${fill('0,', MIB - 200)}0]`),
      ),
    },
    {
      name: 'policy reports',
      as: 'guest',
      inputs: each(
        {
          many: `[${fill('{"type":"csp-violation","body":{"blockedURL":"https://a.b/","effectiveDirective":"img-src"}},', 15 * KIB).replace(/,[^,]*$/, '')}]`,
          values: `[${fill('0,', 16 * KIB - 4)}0]`,
          depth: fill('[', 60) + fill(']', 60),
        },
        post('/reports/csp', { 'content-type': 'application/reports+json' }),
      ),
    },
    {
      name: 'excerpts',
      as: 'guest',
      inputs: each(
        {
          rss: '/feed/rss',
          json: '/feed/json',
          atom: '/feed/atom',
          profile: '/u/bench-member',
          'posts of a member': '/u/bench-member/posts',
          replies: `/d/${heavy.costly[0]!.number}-costly-texts-0`,
          card: '/u/bench-member/card',
        },
        (path) => get(`${path}?n=${heavy.costly.length}`),
      ),
    },
    {
      name: 'drafts and bookmarks',
      as: 'member',
      inputs: {
        'drafts, page': get('/drafts'),
        drafts: get('/api/drafts?limit=100'),
        bookmarks: get('/api/bookmarks?limit=100'),
        'bookmarks, page': get('/bookmarks'),
        'bookmarks searched': get(`/api/bookmarks?limit=100&q=${encode(fill('%_ ', 100))}`),
        'bookmarks found': get('/api/bookmarks?limit=100&q=a%20a%20a%20a%20a%20a%20a%20a'),
        'the longest draft': {
          method: 'PUT',
          path: '/api/drafts/new',
          headers: JSON_TYPE,
          body: JSON.stringify({ fields: { content: fill('\n', 140_000) } }),
        },
        'many fields': {
          method: 'PUT',
          path: '/api/drafts/new',
          headers: JSON_TYPE,
          body: `{"fields":{${list((n) => `"k${n}":true`, 9_900)}}}`,
        },
      },
    },
    {
      name: 'what is typed',
      as: 'guest',
      inputs: Object.fromEntries(
        [
          fill('a ', 100),
          fill('ab ', 100),
          fill('%_', 100),
          fill('é\u0301 ', 100),
          fill(':*&|!', 100),
          fill('me ', 100),
        ].map((q) => [q.slice(0, 8), get(`/api/search/suggestions?q=${encode(q)}`)]),
      ),
    },
    {
      name: 'titles that are compared',
      as: 'member',
      inputs: Object.fromEntries(
        [
          fill('measured discussion number heavy costly texts ', 200),
          fill("a'b\\ ", 200),
          fill('ab cd ef gh ij kl mn ', 200),
        ].map((title) => [title.slice(0, 8), get(`/api/search/similar?title=${encode(title)}`)]),
      ),
    },
    {
      name: 'lists of members, and what is unread',
      as: 'member',
      inputs: {
        members: get('/members?page=1000000'),
        'members of the API': get('/api/members?limit=100&offset=100000'),
        unread: get('/api/unread?limit=100'),
        'unread, page': get('/unread'),
        'a reply': get(`/d/${heavy.number}/reply?quote=${heavy.post}&post=${heavy.post}`),
        'an edit': get(`/p/${heavy.post}/edit`),
        'a menu': get(`/p/${heavy.post}/menu`),
        emoji: get('/api/emoji/picker'),
        notifications: get('/api/notifications?limit=100'),
      },
    },
    { name: 'uploads', as: 'member', inputs: uploads('/api/uploads') },
    { name: 'avatars', as: 'member', inputs: uploads('/settings/avatar') },
  ];
}

/** A visitor who has not logged in, with the token of a form. */
async function guest(url: string): Promise<Headers> {
  const response = await fetch(`${url}/login`, { headers: AGENT });
  const cookie = response.headers
    .getSetCookie()
    .map((line) => line.slice(0, line.indexOf(';')))
    .join('; ');
  return {
    ...AGENT,
    cookie,
    'x-csrf-token': /<meta name="csrf-token" content="([^"]+)"/.exec(await response.text())?.[1] ?? '',
  };
}

/** Bytes of the answer's body, and its status. */
async function send(
  url: string,
  sender: Headers,
  { method = 'GET', path, headers, body, open = false }: Input,
): Promise<{ readonly bytes: number; readonly status: number }> {
  const cookie =
    headers?.['cookie'] && sender['cookie']
      ? { cookie: `${sender['cookie']};${headers['cookie']}`.slice(0, HEAD) }
      : {};
  const { hostname, port } = new URL(url);
  const req = request({ hostname, port, method, path, agent: false, headers: { ...sender, ...headers, ...cookie } });
  let answered = false;
  // The server closes a connection whose body it will not read.
  req.on('error', () => answered);
  req.end(body);
  const res = (await Promise.race([once(req, 'response'), once(req, 'close').then(() => [])])) as [IncomingMessage?];
  if (!res[0]) return { bytes: 0, status: 0 };
  answered = true;
  let bytes = 0;
  res[0].on('error', () => answered).on('data', (chunk: Buffer) => (bytes += chunk.length));
  await Promise.race([once(res[0], 'close'), ...(open ? [sleep(BEGINNING)] : [])]);
  req.destroy();
  return { bytes, status: res[0].statusCode ?? 0 };
}

/** Twenty replies, each as large as a post's HTML may be. */
async function writeHeavy(forum: Child, member: Headers): Promise<Heavy> {
  const save = async (method: string, path: string, body: object): Promise<void> => {
    const response = await fetch(forum.url + path, {
      method,
      headers: { ...member, ...JSON_TYPE },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  };
  const create = async (
    path: string,
    body: object,
  ): Promise<Readonly<Record<string, { readonly id: string; readonly number: number }>>> => {
    const response = await fetch(forum.url + path, {
      method: 'POST',
      headers: { ...member, ...JSON_TYPE },
      body: JSON.stringify(body),
    });
    if (response.status !== 201) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as never;
  };
  const { categories } = (await (await fetch(`${forum.url}/api/categories`)).json()) as {
    categories: { id: string; slug: string }[];
  };
  const category = (categories.find(({ slug }) => slug === 'general') ?? categories[0]!).id;
  const { discussion } = await create('/api/discussions', {
    title: 'A heavy discussion',
    content: 'The heavy one.',
    category_id: category,
  });
  const content = `heavy ${fill('**b** ', 42 * KIB)}`;
  let last = '';
  for (let n = 0; n < 20; n++)
    last = (await create('/api/posts', { discussion_id: discussion!.id, content: `${n} ${content}` }))['post']!.id;
  for (let n = 0; n < 3; n++) {
    await fetch(`${forum.url}/api/posts/${last}`, {
      method: 'PUT',
      headers: { ...member, ...JSON_TYPE },
      body: JSON.stringify({ content: `${n} edited\n${content.replaceAll(' ', n % 2 ? '\n' : ' ')}` }),
    });
  }
  await save('PUT', '/api/drafts/new', { fields: { title: 'A draft', content: fill('😀', 280_000 / 2) } });
  const costly = [];
  for (let n = 0; n < COSTLY; n++) {
    const begun = await create('/api/discussions', {
      title: `Costly texts ${n}`,
      content: fill('a@b.c ', 1_200),
      category_id: category,
    });
    const { id, number } = begun['discussion']!;
    costly.push({ id, number });
    await save('POST', '/api/bookmarks', { discussion_id: id, note: fill('%_', 400) });
    // The one of a new discussion is there already.
    if (n === 0) continue;
    await save('PUT', `/api/drafts/reply-${id}`, {
      fields: { content: fill('a@b.c ', 1_200), '?to': fill('😀', 280_000 / COSTLY) },
    });
  }
  for (let n = 0; n < 20; n++)
    await create('/api/posts', { discussion_id: costly[0]!.id, content: `${n} ${fill('a@b.c ', 1_200)}` });
  return { number: discussion!.number, post: last, category, costly };
}

/**
 * How long one request holds the event loop, and how large its answer is: of each input of "Bounds of input" in
 * docs/security.md.
 */
export async function measureHostile(
  forum: Child,
  prepared: Prepared,
  member: Member,
  quick: boolean,
): Promise<readonly Result[]> {
  const heavy = await writeHeavy(forum, member.headers);
  await forum.ask({ do: 'calm' });
  const senders = { guest: await guest(forum.url), member: member.headers };
  const results: Result[] = [];
  for (const { name, as, inputs } of rowsOf(prepared, heavy)) {
    let [longest, largest]: { readonly value: number; readonly what: string }[] = [
      { value: 0, what: '' },
      { value: 0, what: '' },
    ];
    for (const [what, input] of Object.entries(inputs)) {
      let least = Infinity;
      for (let turn = 0; turn < (quick ? QUICK_TURNS : TURNS); turn++) {
        await forum.ask({ do: 'forget' });
        await forum.ask({ do: 'watch' });
        const { bytes, status } = await send(forum.url, senders[as], input);
        const { held } = await forum.ask<{ held: number }>({ do: 'watched' });
        if (status >= 500) throw new Error(`${name}, ${what}: answered ${status}`);
        least = Math.min(least, held);
        if (bytes > largest!.value) largest = { value: bytes, what };
      }
      if (least > longest!.value) longest = { value: least, what };
    }
    results.push(
      {
        name: `${name}, the longest hold (${longest!.what})`,
        value: longest!.value,
        unit: 'ms',
        ratio: undefined,
        goal: LONGEST_HOLD,
        atMost: true,
      },
      {
        name: `${name}, the largest answer (${largest!.what})`,
        value: largest!.value / MIB,
        unit: 'MiB',
        ratio: undefined,
        goal: LARGEST_ANSWER,
        atMost: true,
      },
    );
  }
  return results;
}
