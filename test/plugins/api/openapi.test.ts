import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { definePlugin, Plugins, Type } from 'parley-forum';
import { api } from 'parley-forum/plugins/api';
import { runCommand } from '../../../core/cli/run-command.ts';
import { startForum } from 'parley-forum/testing';
import { startApi, type ApiForum } from './probe.ts';

let forum: ApiForum;
const extra = definePlugin({
  id: 'extra',
  setup(_services, plugin) {
    plugin.route(api, {
      method: 'get',
      path: '/extra/:name',
      can: 'public',
      params: Type.Object({ name: Type.String({ maxLength: 9 }) }),
      summary: 'One <extra> thing',
    })(() => ({}));
  },
});
beforeAll(async () => {
  forum = await startApi({ extra: [extra] });
});
afterAll(() => forum[Symbol.asyncDispose]());
const document = async (): Promise<any> => (await forum.client().get('/api/openapi.json')).body;

it('a command prints the OpenAPI document, or writes it to a file, as it is served over HTTP', async () => {
  const lines: string[] = [];
  await runCommand(forum.app, ['openapi'], {
    terminal: false,
    columns: 80,
    print: (line) => void lines.push(line),
    progress: () => undefined,
    secret: () => Promise.resolve(undefined),
  });
  expect(JSON.parse(lines.join('\n'))).toEqual(await document());

  const out = join(forum.app.environment.dataDir, 'openapi.json');
  await runCommand(forum.app, ['openapi', '--out', out], {
    terminal: false,
    columns: 80,
    print: (line) => void lines.push(line),
    progress: () => undefined,
    secret: () => Promise.resolve(undefined),
  });
  expect([lines.at(-1), JSON.parse(await readFile(out, 'utf8'))]).toEqual([`Written to ${out}.`, await document()]);
});

/**
 * Rules that the schema of OpenAPI does not check: every reference resolves, ids are unique, and each parameter in
 * a path is described.
 */
function problems(found: any): string[] {
  const wrong: string[] = [];
  const resolves = (ref: string): boolean =>
    ref
      .split('/')
      .slice(1)
      .reduce((at: any, key) => at?.[key], found) !== undefined;
  const walk = (value: any, at: string): void => {
    if (value === null || typeof value !== 'object') return;
    if (typeof value.$ref === 'string' && !resolves(value.$ref)) wrong.push(`${at}: ${value.$ref} leads nowhere`);
    for (const [key, child] of Object.entries(value)) walk(child, `${at}/${key}`);
  };
  walk(found, '#');
  const operations = Object.entries<any>(found.paths).flatMap(([path, item]) =>
    Object.values<any>(item).map((operation) => ({ path, ...operation })),
  );
  for (const { path, parameters, operationId } of operations) {
    const described = parameters.filter((one: any) => one.in === 'path').map((one: any) => one.name);
    if (JSON.stringify([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)) !== JSON.stringify(described))
      wrong.push(`${path}: describes other parts of its path`);
    if (operations.filter((other) => other.operationId === operationId).length > 1)
      wrong.push(`${path}: repeats the id ${operationId}`);
  }
  return wrong;
}

describe('the OpenAPI document', () => {
  it('conforms to OpenAPI 3.1, with every plugin of the forum', async () => {
    await using whole = await startForum();
    for (const found of [await document(), (await whole.client().get('/api/openapi.json')).body]) {
      expect(await new Validator().validate(found)).toEqual({ valid: true });
      expect(problems(found)).toEqual([]);
    }
  });

  it('is checked by rules that detect errors', async () => {
    const bad = await document();
    bad.paths['/api/extra/{name}'].get.parameters = [];
    bad.paths['/api/version'].get.responses['400'] = { $ref: '#/components/responses/Nothing' };
    expect(problems(bad)).toHaveLength(2);
    bad.paths['/api/version'].get.parameters = [{ name: 'x', in: 'nowhere' }];
    expect((await new Validator().validate(bad)).valid).toBe(false);
  });

  it('describes every route of the API and nothing else', async () => {
    const { paths } = await document();
    const routes = forum.app.routes.list().filter(({ surface }) => surface.id === 'api');
    expect(
      Object.entries<object>(paths)
        .flatMap(([path, item]) => Object.keys(item).map((method) => `${method} ${path}`))
        .sort(),
    ).toEqual(routes.map(({ method, path }) => `${method} /api${path.replace(/:(\w+)/g, '{$1}')}`).sort());
  });

  it('states who may call each route, with which body and which response', async () => {
    const { paths } = await document();
    const form = paths['/api/probe/form'].post;
    expect(form.security).toEqual([{ bearer: [] }, { session: [], csrf: [] }]);
    expect(Object.keys(form.requestBody.content)).toEqual(['application/json', 'application/x-www-form-urlencoded']);
    expect(form.requestBody.content['application/json'].schema.required).toEqual(['name']);
    expect(Object.keys(form.responses)).toEqual(
      expect.arrayContaining(['201', '400', '401', '403', '409', '413', '415', '429']),
    );
    expect(form.parameters).toEqual([{ $ref: '#/components/parameters/IdempotencyKey' }]);
    const kept = paths['/api/probe/kept'].get;
    expect(kept.security[0]).toEqual({});
    expect(kept.parameters).toEqual([
      { name: 'size', in: 'query', required: false, schema: { type: 'integer', minimum: 1 } },
    ]);
    expect(kept.responses['200'].content['application/json'].schema).toMatchObject({
      required: ['success', 'run'],
      properties: { success: { const: true } },
    });
    expect(paths['/api/markdown/parse'].post.security).toEqual([{}]);
  });

  it('lists the headers of every response, and Retry-After where it is sent', async () => {
    const { paths, components } = await document();
    const rates = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
    for (const operation of Object.values<any>(paths).flatMap((item) => Object.values<any>(item))) {
      for (const answer of Object.values<any>(operation.responses)) {
        const { headers } = answer.$ref ? components.responses[answer.$ref.split('/').at(-1)] : answer;
        expect(Object.keys(headers)).toEqual(expect.arrayContaining(rates));
      }
    }
    for (const name of ['RateLimited', 'Unavailable'])
      expect(components.responses[name].headers['Retry-After']).toBeDefined();
    expect(Object.keys(components.securitySchemes)).toEqual(['bearer', 'session', 'csrf']);
    expect(components.securitySchemes.csrf).toMatchObject({ in: 'header', name: 'X-CSRF-Token' });
  });

  it('follows plugins as they are enabled and disabled', async () => {
    const plugins = forum.app.service(Plugins);
    expect((await document()).paths['/api/extra/{name}']).toBeDefined();
    await plugins.disable('extra');
    expect((await document()).paths['/api/extra/{name}']).toBeUndefined();
    expect((await forum.client().get('/api/docs')).text).not.toContain('/api/extra');
    await plugins.enable('extra');
    expect((await document()).paths['/api/extra/{name}']).toBeDefined();
  });
});

describe('the HTML reference', () => {
  it('shows every call, escaped, without scripts or external URLs', async () => {
    const { status, headers, text } = await forum.client().get('/api/docs');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    for (const path of Object.keys((await document()).paths)) expect(text).toContain(`<code>${path}</code>`);
    expect(text).toContain('One &lt;extra&gt; thing');
    expect(text).not.toMatch(/<script|style=|https:\/\//);
    expect(headers.get('content-security-policy')).toContain("style-src 'self'");
    expect((await forum.client().get('/api/docs/style.css')).headers.get('content-type')).toBe(
      'text/css; charset=utf-8',
    );
  });
});
