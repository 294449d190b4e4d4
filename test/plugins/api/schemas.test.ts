import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { startForum } from 'parley-forum/testing';

// Startup does not validate the schemas themselves; this does, for all that come with the forum.
it('every setting and route of the forum has a valid JSON Schema 2020-12', async () => {
  await using forum = await startForum();
  const ajv = new Ajv2020();
  const settings = forum.app.settings.list().map(({ key, schema }) => ({ of: key, schema }));
  const routes = forum.app.routes
    .list()
    .flatMap(({ method, surface, path, params, query, body, result }) =>
      [params, query, body, result].flatMap((schema) =>
        schema ? { of: `${method} ${surface.prefix}${path}`, schema } : [],
      ),
    );
  const faulty = [...settings, ...routes].filter(({ schema }) => !ajv.validateSchema(schema)).map(({ of }) => of);
  expect(faulty).toEqual([]);
  expect(Math.min(settings.length, routes.length)).toBeGreaterThan(50);
  expect(ajv.validateSchema({ type: 'integer', minimum: 'one' })).toBe(false);
});
