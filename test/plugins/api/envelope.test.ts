import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApi, type ApiForum } from './probe.ts';

let forum: ApiForum;
beforeAll(async () => {
  forum = await startApi({ differing: true });
});
afterAll(() => forum[Symbol.asyncDispose]());

const raw = (path: string, init: RequestInit & { duplex?: 'half' }): Promise<Response> => fetch(forum.url + path, init);
const json = { 'content-type': 'application/json' };

describe('an API response', () => {
  it('begins with success and contains the route’s own keys', async () => {
    const { status, text, headers } = await forum.client().get('/api/version');
    expect(status).toBe(200);
    expect(text).toBe('{"success":true,"version":"0.0.0-test"}');
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  it('gives times in UTC with milliseconds', async () => {
    expect((await forum.client().get('/api/probe/time')).body).toEqual({
      success: true,
      at: '2026-03-04T05:06:07.089Z',
    });
  });

  it('to a failure has a message, a stable code and the request id', async () => {
    const { status, body, headers } = await forum.client().get('/api/nothing/here');
    expect(status).toBe(404);
    expect(body).toEqual({
      success: false,
      error: 'Not found',
      code: 'not_found',
      request_id: headers.get('x-request-id'),
    });
  });

  it('to an unsupported method is 405 and lists those of the path', async () => {
    const answer = await forum.client().request('POST', '/api/version');
    expect([answer.status, answer.headers.get('allow'), answer.body.code]).toEqual([
      405,
      'GET, HEAD, OPTIONS',
      'method_not_allowed',
    ]);
  });

  it('to OPTIONS is empty and lists them too', async () => {
    const answer = await forum.client().request('OPTIONS', '/api/probe/things/1');
    expect([answer.status, answer.headers.get('allow'), answer.text]).toEqual([204, 'PUT, DELETE, OPTIONS', '']);
  });

  it('to HEAD is the response to GET without its body', async () => {
    const [get, head] = [
      await forum.client().get('/api/probe/time'),
      await forum.client().request('HEAD', '/api/probe/time'),
    ];
    expect([head.status, head.text]).toEqual([200, '']);
    for (const name of ['etag', 'content-type', 'content-length'])
      expect(head.headers.get(name)).toBe(get.headers.get(name));
  });

  it('is not sent again to a client that has it', async () => {
    const first = await forum.client().get('/api/probe/time');
    const again = await forum.client().get('/api/probe/time', { 'if-none-match': first.headers.get('etag')! });
    expect([again.status, again.text]).toEqual([304, '']);
    expect((await forum.client().get('/api/probe/time', { 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('has headers that restrict what browsers may do with it', async () => {
    for (const path of ['/api/version', '/api/nothing', '/api/docs', '/api/probe/broken']) {
      const { headers } = await forum.client().get(path);
      expect(headers.get('x-content-type-options'), path).toBe('nosniff');
      expect(headers.get('x-frame-options'), path).toBe('SAMEORIGIN');
      expect(headers.get('x-xss-protection'), path).toBe('0');
      expect(headers.get('referrer-policy'), path).toBe('strict-origin-when-cross-origin');
      expect(headers.get('content-security-policy'), path).toContain("default-src 'none'");
      expect(headers.get('content-security-policy'), path).not.toContain('unsafe');
    }
  });

  it('to an internal error reveals nothing and is logged with its id', async () => {
    const { status, text, body } = await forum.client().get('/api/probe/broken');
    expect(status).toBe(500);
    expect(text).not.toMatch(/1234|probe\.ts|at /);
    expect(forum.lines).toContainEqual(
      expect.objectContaining({ level: 'error', request: body.request_id, path: '/api/probe/broken' }),
    );
  });

  it('asks the client to retry later when the database is unavailable', async () => {
    const answer = await forum.client().get('/api/probe/away');
    expect([answer.status, answer.body.code, answer.headers.get('retry-after')]).toEqual([503, 'unavailable', '5']);
  });

  it('that differs from the route’s schema is reported to the developer', async () => {
    expect((await forum.client().get('/api/probe/wrong')).status).toBe(200);
    expect(forum.lines).toContainEqual(
      expect.objectContaining({
        level: 'error',
        path: '/probe/wrong',
        problems: [expect.objectContaining({ field: 'run' })],
      }),
    );
    expect((await forum.client().get('/api/probe/talkative')).status).toBe(200);
    expect(forum.lines).toContainEqual(
      expect.objectContaining({
        path: '/probe/talkative',
        problems: [{ field: 'inner.secret', message: 'is not described' }],
      }),
    );
    expect((await forum.client().get('/api/probe/teapot')).status).toBe(418);
    expect(forum.lines).toContainEqual(
      expect.objectContaining({
        path: '/probe/teapot',
        problems: [{ field: 'status', message: '418 is not described' }],
      }),
    );
  });
});

describe('a request body', () => {
  const post = (
    body: NonNullable<RequestInit['body']>,
    headers: Record<string, string> = json,
    path = '/api/probe/optional',
  ): Promise<Response> => raw(path, { method: 'POST', body, headers });

  it('may be absent, without a content type, if nothing is required', async () => {
    const answer = await raw('/api/probe/optional', { method: 'POST' });
    expect([answer.status, await answer.json()]).toEqual([200, { success: true, body: {} }]);
  });

  it('that is malformed is refused with 400', async () => {
    for (const body of ['{', '{"ids":[}', 'ids=1', '{"ids":["\uD800"', new Uint8Array([0x22, 0xff, 0x22])])
      expect((await post(body)).status).toBe(400);
  });

  it('that is not an object is refused with 400', async () => {
    for (const body of ['null', '[]', '"text"', '1']) expect((await post(body)).status).toBe(400);
  });

  it('of another type is refused with 415', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/xml',
      'application/json; charset=utf-16',
    ]) {
      expect((await post('{}', { 'content-type': type })).status, type).toBe(415);
    }
    expect((await post('{}', { ...json, 'content-encoding': 'gzip' })).status).toBe(415);
  });

  it('over 64 KiB is refused with 413 unless the route takes text, with or without a declared length', async () => {
    const large = JSON.stringify({ ids: ['x'.repeat(64 * 1024)] });
    const declared = await post(large);
    expect([declared.status, ((await declared.json()) as { code: string }).code]).toEqual([413, 'too_large']);
    const chunks = new ReadableStream({
      start(controller) {
        for (let at = 0; at < large.length; at += 65_536)
          controller.enqueue(new TextEncoder().encode(large.slice(at, at + 65_536)));
        controller.close();
      },
    });
    const streamed = await raw('/api/probe/optional', { method: 'POST', headers: json, body: chunks, duplex: 'half' });
    expect(streamed.status).toBe(413);
  });

  it('cannot reach prototypes, literally or escaped', async () => {
    for (const body of [
      '{"__proto__":{"polluted":1},"ids":[]}',
      '{"\\u005f_proto__":{"polluted":1}}',
      '{"constructor":{"prototype":{"polluted":1}}}',
    ]) {
      expect((await post(body)).status).toBe(200);
      expect(({} as { polluted?: number }).polluted).toBeUndefined();
    }
  });

  it('loses fields that the route does not know', async () => {
    const answer = await post('{"ids":["a"],"admin":true}');
    expect(await answer.json()).toEqual({ success: true, body: { ids: ['a'] } });
  });

  it('with invalid fields gets an error that names each of them', async () => {
    const client = forum.client();
    await client.csrf();
    const { status, body } = await client.post('/api/probe/heartbeat', { name: 'x' });
    expect([status, body.code, body.details.map((one: { field: string }) => one.field)]).toEqual([
      400,
      'validation_failed',
      ['name'],
    ]);
    expect((await client.post('/api/probe/heartbeat', {})).body.details).toEqual([
      { field: 'name', message: 'is required' },
    ]);
  });
});

describe('a query', () => {
  it('with an invalid value is refused with 400; unknown parameters are ignored', async () => {
    expect((await forum.client().get('/api/probe/kept?size=none')).status).toBe(400);
    expect((await forum.client().get('/api/probe/kept?size=0')).body.details[0].field).toBe('size');
    expect((await forum.client().get('/api/probe/kept?unknown=1')).status).toBe(200);
  });
});

describe('work that is accepted but not done yet', () => {
  it('is answered with 202, as its route declares, and again under the same key', async () => {
    await forum.member('accepting');
    const authorization = `Bearer ${await forum.token('accepting')}`;
    const post = (later: boolean, key: string) =>
      forum.client().post('/api/probe/accepted', { later }, { authorization, 'idempotency-key': key });
    const first = await post(true, 'one');
    expect([first.status, first.body]).toEqual([202, { success: true, waits: true }]);
    const again = await post(true, 'one');
    expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([202, first.text, 'true']);
    expect((await post(false, 'two')).status).toBe(201);
    const { paths } = (await forum.client().get('/api/openapi.json')).body;
    const { responses } = paths['/api/probe/accepted'].post;
    expect(responses[201].content['application/json'].schema.required).toEqual(['success', 'run']);
    expect(responses[202].content['application/json'].schema.required).toEqual(['success', 'waits']);
    expect((await forum.client().get('/api/docs')).text).toContain('Response 202');
  });
});
