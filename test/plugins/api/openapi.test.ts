import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { definePlugin, Plugins, Type } from '#core';
import { api } from '#plugins/api';
import { runCommand } from '../../../core/cli/run.ts';
import { startApi, type ApiForum } from './probe.ts';

let forum: ApiForum;
const extra = definePlugin({
  id: 'extra',
  setup(_services, plugin) {
    plugin.route(api, { method: 'get', path: '/extra/:name', can: 'public', params: Type.Object({ name: Type.String({ maxLength: 9 }) }), summary: 'One <extra> thing' })(() => ({}));
  },
});
beforeAll(async () => {
  forum = await startApi({ extra: [extra] });
});
afterAll(() => forum[Symbol.asyncDispose]());
const document = async (): Promise<any> => (await forum.client().get('/api/openapi.json')).body;

it('is printed by a command as it is answered over HTTP', async () => {
  const lines: string[] = [];
  await runCommand(forum.app, ['openapi'], { terminal: false, columns: 80, print: (line) => void lines.push(line), progress: () => undefined });
  expect(JSON.parse(lines.join('\n'))).toEqual(await document());
});

const METHODS = ['get', 'put', 'post', 'delete', 'patch'];
const TYPES = ['string', 'integer', 'number', 'boolean', 'array', 'object', 'null'];

/** What the OpenAPI 3.1 schema asks of the parts that are used here; a problem is a path and what is wrong there. */
function problems(found: any): string[] {
  const wrong: string[] = [];
  const need = (holds: boolean, at: string, what: string): void => void (holds || wrong.push(`${at}: ${what}`));
  const resolve = (ref: string): unknown => ref.split('/').slice(1).reduce((at: any, key) => at?.[key], found);
  const walk = (value: any, at: string): void => {
    if (value === null || typeof value !== 'object') return;
    if (typeof value.$ref === 'string') need(resolve(value.$ref) !== undefined, at, `${value.$ref} leads nowhere`);
    for (const [key, child] of Object.entries(value)) walk(child, `${at}/${key}`);
  };
  const schema = (value: any, at: string): void => {
    need(typeof value === 'object' && value !== null && !Array.isArray(value), at, 'a schema is an object here');
    if (value.type !== undefined) need(TYPES.includes(value.type), at, `unknown type ${String(value.type)}`);
    if (value.required !== undefined) need(Array.isArray(value.required) && value.required.every((name: string) => name in (value.properties ?? {})), at, 'requires what it does not describe');
    for (const [name, child] of Object.entries(value.properties ?? {})) schema(child, `${at}/${name}`);
    if (value.items) schema(value.items, `${at}/items`);
    for (const part of [...(value.anyOf ?? []), ...(value.allOf ?? [])]) schema(part, `${at}/of`);
  };
  need(/^3\.1\.\d+$/.test(found.openapi), 'openapi', 'is a 3.1 version');
  need(typeof found.info.title === 'string' && typeof found.info.version === 'string', 'info', 'has title and version');
  const ids = new Set<string>();
  for (const [path, item] of Object.entries<any>(found.paths)) {
    need(path.startsWith('/'), path, 'begins with a slash');
    for (const [method, operation] of Object.entries<any>(item)) {
      const at = `${method} ${path}`;
      need(METHODS.includes(method), at, 'is a method');
      need(!ids.has(operation.operationId), at, `repeats the id ${operation.operationId}`);
      ids.add(operation.operationId);
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const described = operation.parameters.filter((one: any) => one.in === 'path').map((one: any) => one.name);
      need(JSON.stringify(inPath) === JSON.stringify(described), at, 'describes each part of its path');
      const names = operation.parameters.map((one: any) => `${one.in} ${one.name}`);
      need(new Set(names).size === names.length, at, 'repeats a parameter');
      for (const one of operation.parameters) {
        need(typeof one.required === 'boolean' && (one.in !== 'path' || one.required), at, `${one.name} is required in a path`);
        schema(one.schema, `${at}/${one.name}`);
      }
      need(Object.keys(operation.responses).some((status) => /^2\d\d$/.test(status)), at, 'can succeed');
      for (const [status, response] of Object.entries<any>(operation.responses)) need(/^\d{3}$/.test(status) && (typeof response.description === 'string' || typeof response.$ref === 'string'), `${at}/${status}`, 'is described');
      for (const { schema: own } of Object.values<any>(operation.requestBody?.content ?? {})) schema(own, `${at}/body`);
      for (const way of operation.security) for (const name of Object.keys(way)) need(name in found.components.securitySchemes, at, `unknown scheme ${name}`);
    }
  }
  walk(found, '#');
  return wrong;
}

describe('the OpenAPI document', () => {
  it('obeys OpenAPI 3.1', async () => {
    expect(problems(await document())).toEqual([]);
  });

  it('is checked by rules that find what is wrong', async () => {
    const bad = await document();
    bad.paths['/api/extra/{name}'].get.parameters = [];
    bad.paths['/api/version'].get.responses['400'] = { $ref: '#/components/responses/Nothing' };
    expect(problems(bad)).toHaveLength(2);
  });

  it('describes every route of the API and nothing else', async () => {
    const { paths } = await document();
    const routes = forum.app.routes.list().filter(({ surface }) => surface.id === 'api');
    expect(Object.entries<object>(paths).flatMap(([path, item]) => Object.keys(item).map((method) => `${method} ${path}`)).sort()).toEqual(
      routes.map(({ method, path }) => `${method} /api${path.replace(/:(\w+)/g, '{$1}')}`).sort());
  });

  it('says who may call what, with which body, and what comes back', async () => {
    const { paths } = await document();
    const form = paths['/api/probe/form'].post;
    expect(form.security).toEqual([{ bearer: [] }, { session: [], csrf: [] }]);
    expect(Object.keys(form.requestBody.content)).toEqual(['application/json', 'application/x-www-form-urlencoded']);
    expect(form.requestBody.content['application/json'].schema.required).toEqual(['name']);
    expect(Object.keys(form.responses)).toEqual(expect.arrayContaining(['201', '400', '401', '403', '413', '415', '429']));
    const kept = paths['/api/probe/kept'].get;
    expect(kept.security[0]).toEqual({});
    expect(kept.parameters).toEqual([{ name: 'size', in: 'query', required: false, schema: { type: 'integer', minimum: 1 } }]);
    expect(kept.responses['200'].content['application/json'].schema).toMatchObject({ required: ['success', 'run'], properties: { success: { const: true } } });
    expect(paths['/api/markdown/parse'].post.security).toEqual([{}]);
  });

  it('follows plugins that come and go', async () => {
    const plugins = forum.app.service(Plugins);
    expect((await document()).paths['/api/extra/{name}']).toBeDefined();
    await plugins.disable('extra');
    expect((await document()).paths['/api/extra/{name}']).toBeUndefined();
    expect((await forum.client().get('/api/docs')).text).not.toContain('/api/extra');
    await plugins.enable('extra');
    expect((await document()).paths['/api/extra/{name}']).toBeDefined();
  });
});

describe('the page for people', () => {
  it('shows every call, escaped, without script or foreign address', async () => {
    const { status, headers, text } = await forum.client().get('/api/docs');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    for (const path of Object.keys((await document()).paths)) expect(text).toContain(`<code>${path}</code>`);
    expect(text).toContain('One &lt;extra&gt; thing');
    expect(text).not.toMatch(/<script|style=|https:\/\//);
    expect(headers.get('content-security-policy')).toContain("style-src 'self'");
    expect((await forum.client().get('/api/docs/style.css')).headers.get('content-type')).toBe('text/css; charset=utf-8');
  });
});
