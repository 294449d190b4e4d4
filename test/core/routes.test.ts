import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Data, definePermission, definePlugin, HttpError, sql, Type, type PluginHandle } from 'parley-forum';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';
import { plain, plainPlugin } from './fixtures/plain.ts';

const keep = definePermission('books.keep', { label: 'keep books', default: 'keeper' });
const BOOKS: Readonly<Record<string, { readonly owner: string }>> = { '1': { owner: 'ada' } };

/** The routes that the requests below use. */
function register(plugin: PluginHandle): void {
  plugin.route(plain, {
    method: 'get',
    path: '/books/:id',
    params: Type.Object({ id: Type.Integer() }),
    can: 'public',
  })(({ params }) => ({ id: params.id }));
  plugin.route(plain, { method: 'get', path: '/books/newest', can: 'public' })(() => ({ id: 'newest' }));
  plugin.route(plain, { method: 'get', path: '/books/:id/pages/:page', can: 'public' })(({ params }) => params);
  plugin.route(plain, { method: 'get', path: '/files/*path', can: 'public' })(({ params }) => params);
  plugin.route(plain, {
    method: 'get',
    path: '/books',
    query: Type.Object({ page: Type.Integer({ minimum: 1, default: 1 }) }),
    can: 'public',
  })(({ query }) => query);
  plugin.route(plain, {
    method: 'post',
    path: '/books',
    status: 201,
    body: Type.Object({ title: Type.String({ minLength: 2 }) }),
    can: keep,
  })(({ body }) => body);
  plugin.route(plain, {
    method: 'put',
    path: '/books/:id',
    can: 'public',
    body: Type.Object({ title: Type.String() }),
    load: ({ params }) => BOOKS[params['id'] ?? ''],
    authorize: ({ actor, target }) => actor.name === target.owner,
  })(({ target, body }) => ({ ...target, ...body }));
  plugin.route(plain, { method: 'get', path: '/shelf', can: 'member' })(({ actor }) => ({ of: actor.name }));
  plugin.route(plain, { method: 'get', path: '/broken', can: 'public' })(() => {
    throw new Error('a secret of the inside');
  });
  plugin.route(plain, { method: 'get', path: '/links/:token', can: 'public' })(() => {
    throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  });
  plugin.route(plain, { method: 'get', path: '/gone', can: 'public' })(() => {
    throw new HttpError(410, 'It was here', { headers: { 'x-since': 'May' } });
  });
}

let running: TestForum;
let visitor: Client;
beforeAll(async () => {
  running = await startForum({
    plugins: [plainPlugin, definePlugin({ id: 'books', setup: (_services, plugin) => register(plugin) })],
  });
  visitor = running.client();
});
afterAll(() => running[Symbol.asyncDispose]());

test('a route for members responds to users who are logged in, and requires a login from others', async () => {
  expect(await visitor.get('/shelf')).toMatchObject({ status: 401, body: { code: 'login_needed' } });
  expect((await running.client({ 'x-name': 'ada' }).get('/shelf')).body).toEqual({ of: 'ada' });
});

describe('finding a route', () => {
  test('a literal segment takes precedence over a parameter, whichever was registered first', async () => {
    expect((await visitor.get('/books/newest')).body).toEqual({ id: 'newest' });
    expect((await visitor.get('/books/7')).body).toEqual({ id: 7 });
  });

  test('parameters are decoded, even several in one path', async () => {
    expect((await visitor.get('/books/a%20b/pages/%C3%A4')).body).toEqual({ id: 'a b', page: 'ä' });
  });

  test('a path that cannot be decoded is not found rather than a server error', async () => {
    expect((await visitor.get('/books/%ff/pages/1')).status).toBe(404);
  });

  test('a wildcard matches everything below, decoded', async () => {
    expect((await visitor.get('/files/a/b%20c%2Fd.txt')).body).toEqual({ path: 'a/b c/d.txt' });
    expect((await visitor.get('/files')).status).toBe(404);
  });

  test('trailing and duplicate slashes are ignored', async () => {
    expect((await visitor.get('/books//7/')).body).toEqual({ id: 7 });
  });

  test('HEAD responds like GET, without a body', async () => {
    const answer = await visitor.request('HEAD', '/books/7');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toContain('json');
    expect(answer.text).toBe('');
  });

  test('another method on a known path gets 405 with the allowed methods', async () => {
    const answer = await visitor.delete('/books/7');
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, HEAD, PUT, OPTIONS');
  });

  test('a literal path never matches as a parameter, whatever the method', async () => {
    const answer = await visitor.put('/books/newest', { title: 'x' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  test('OPTIONS lists the allowed methods', async () => {
    const answer = await visitor.request('OPTIONS', '/books');
    expect(answer.status).toBe(204);
    expect(answer.headers.get('allow')).toBe('GET, HEAD, POST, OPTIONS');
  });

  test('an unknown path gets 404 with any method', async () => {
    expect((await visitor.get('/nowhere')).status).toBe(404);
    expect((await visitor.request('OPTIONS', '/nowhere')).status).toBe(404);
  });

  test('a path that another plugin has already registered is refused at startup, with its plugin', async () => {
    running.app.kernel.install(
      definePlugin({
        id: 'copycat',
        setup: (_services, plugin) =>
          plugin.route(plain, { method: 'get', path: '/books/:name', can: 'public' })(() => 1),
      }),
    );
    await expect(running.app.kernel.enable('copycat')).rejects.toThrow(
      '[copycat] registers GET //books/:name, which is taken',
    );
    expect((await visitor.get('/books/7')).status).toBe(200);
  });

  test('an invalid path is refused at startup, with its plugin', async () => {
    running.app.kernel.install(
      definePlugin({
        id: 'sloppy',
        setup: (_services, plugin) =>
          plugin.route(plain, { method: 'get', path: '/books/*all/pages', can: 'public' })(() => 1),
      }),
    );
    await expect(running.app.kernel.enable('sloppy')).rejects.toThrow(
      '[sloppy] registers GET //books/*all/pages, which is not a valid path',
    );
    expect((await visitor.get('/books/7')).status).toBe(200);
  });
});

describe('input', () => {
  test('a parameter that does not match its schema gets 404', async () => {
    expect((await visitor.get('/books/seven')).status).toBe(404);
  });

  test('a query is coerced and given defaults, or refused with the invalid field', async () => {
    expect((await visitor.get('/books?page=2')).body).toEqual({ page: 2 });
    expect((await visitor.get('/books')).body).toEqual({ page: 1 });
    for (const page of ['1e1', '%2B5', '%205', '5%20', '0x10', '5.0', '', '9'.repeat(400)])
      expect((await visitor.get(`/books?page=${page}`)).status, page).toBe(400);
    expect((await visitor.get('/books?page=007')).body).toEqual({ page: 7 });
    const refused = await visitor.get('/books?page=none');
    expect(refused.status).toBe(400);
    expect(refused.body.error).toContain('page');
  });

  test('a body is validated as is, without coercion', async () => {
    const headers = { 'x-name': 'keeper' };
    const answer = await visitor.post('/books', { title: 'Tides' }, headers);
    expect([answer.status, answer.body]).toEqual([201, { title: 'Tides' }]);
    expect((await visitor.post('/books', { title: 12 }, headers)).status).toBe(400);
    expect((await visitor.post('/books', {}, headers)).body.error).toBe('title: is required');
  });
});

describe('authorization', () => {
  test('a permission is checked before the input is validated', async () => {
    const refused = await visitor.post('/books', {});
    expect([refused.status, refused.body.error]).toEqual([403, 'You may not keep books']);
  });

  test('the target is loaded first, 404 if it is missing, and must then authorize the caller', async () => {
    expect((await visitor.put('/books/2', { title: 'x' })).status).toBe(404);
    expect((await visitor.put('/books/1', { title: 'x' })).status).toBe(403);
    expect((await visitor.put('/books/1', { title: 'x' }, { 'x-name': 'ada' })).body).toEqual({
      owner: 'ada',
      title: 'x',
    });
  });
});

describe('when a handler throws', () => {
  test('an internal error becomes 500 without its message', async () => {
    const answer = await visitor.get('/broken');
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain('secret');
    const { error, surface, path } = running.lines.findLast(({ message }) => message === 'a request failed')!;
    expect([(error as Error).message, surface, path]).toEqual(['a secret of the inside', 'plain', '/broken']);
  });

  test('an unreachable database becomes 503 with Retry-After, and no credential in the path is logged', async () => {
    const answer = await visitor.get('/links/s3cret');
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    expect(running.lines.findLast(({ message }) => message === 'a request failed')).toMatchObject({
      path: '/links/:token',
    });
  });

  test('an HttpError keeps its status, message and headers', async () => {
    const answer = await visitor.get('/gone');
    expect([answer.status, answer.body.error, answer.headers.get('x-since')]).toEqual([410, 'It was here', 'May']);
  });
});

describe('outside of surfaces', () => {
  test('health and readiness are served whichever plugins run', async () => {
    expect((await visitor.get('/healthz')).body).toEqual({ success: true });
    expect((await visitor.get('/readyz')).body).toMatchObject({ success: true, checks: { database: 'ok' } });
    for (const path of ['/healthz', '/readyz']) {
      const { status, headers } = await visitor.request('OPTIONS', path);
      expect([status, headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
    }
  });

  test('without any surface a request still gets a plain response', async () => {
    await using bare = await startForum({ plugins: [] });
    const answer = await bare.client().get('/anything');
    expect([answer.status, answer.text]).toEqual([404, 'There is no route for GET here.\n']);
  });
});

describe('a request value that the database cannot parse', () => {
  const ID = '0198c0de-0000-7000-8000-000000000000';
  let forum: TestForum;
  beforeAll(async () => {
    const careless = definePlugin({
      id: 'careless',
      needs: { data: Data },
      setup({ data }, plugin) {
        const read = (id: unknown, type: string) => data.one(sql`select ${id}::${sql.raw(type)} as id`);
        plugin.route(plain, { method: 'get', path: '/boats/:id', can: 'public' })(({ params }) =>
          read(params['id'], 'uuid'),
        );
        plugin.route(plain, { method: 'get', path: '/decks/:number', can: 'public' })(({ params }) =>
          data.transaction(() => read(params['number'], 'integer')),
        );
        plugin.route(plain, { method: 'get', path: '/own/:name', can: 'public' })(() => read('nonsense', 'uuid'));
        plugin.route(plain, { method: 'get', path: '/navires/:id', can: 'public' })(({ params }) => {
          const message = `syntaxe en entrée invalide pour le type uuid : «\u00A0${params['id']}\u00A0»`;
          throw Object.assign(new Error(message), { code: '22P02' });
        });
        plugin.route(plain, {
          method: 'post',
          path: '/boats',
          can: 'public',
          body: Type.Object({ crew: Type.Array(Type.String()) }),
        })(({ body }) => read(body.crew, 'uuid[]'));
        plugin.route(plain, {
          method: 'get',
          path: '/boats',
          can: 'public',
          query: Type.Object({ since: Type.String() }),
        })(({ query }) => read(query.since, 'timestamptz'));
      },
    });
    forum = await startForum({ plugins: [plainPlugin, careless] });
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  test('gets 404 if it is part of the path', async () => {
    const reader = forum.client();
    expect((await reader.get(`/boats/${ID}`)).body).toEqual({ id: ID });
    for (const path of ['/boats/nonsense', '/boats/a%22b', '/decks/five', '/decks/99999999999'])
      expect([path, (await reader.get(path)).status]).toEqual([path, 404]);
  });

  test('is recognized in a message from a French database', async () => {
    expect((await forum.client().get('/navires/absurde')).status).toBe(404);
  });

  test('is reported as an invalid field anywhere else', async () => {
    const reader = forum.client();
    const posted = await reader.post('/boats', { crew: [ID, 'nonsense'] });
    expect([posted.status, posted.body.error]).toEqual([400, 'crew.1: is not valid']);
    const read = await reader.get('/boats?since=yesteryear');
    expect([read.status, read.body.error]).toEqual([400, 'since: is not valid']);
  });

  test('is logged for operators once per route, with what would validate it', async () => {
    const reader = forum.client();
    for (const id of ['nonsense', 'more']) await reader.get(`/boats/${id}`);
    const warnings = forum.lines.filter(
      ({ level, path, method }) => level === 'warn' && path === '/boats/:id' && method,
    );
    expect(warnings).toEqual([
      expect.objectContaining({ plugin: 'careless', method: 'GET', message: expect.stringContaining('"params.id"') }),
    ]);
  });

  test('remains a server error if the request did not contain it', async () => {
    expect((await forum.client().get('/own/mine')).status).toBe(500);
  });
});
