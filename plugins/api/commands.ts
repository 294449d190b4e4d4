import { writeFile } from 'node:fs/promises';
import { defineCommand, Environment, Routes, Settings, Type } from 'parley-forum';
import { openApi } from './docs/docs-routes.ts';

/** For client generators, which want a file rather than a running server. */
export const printOpenApi = defineCommand({
  name: 'openapi',
  summary: 'Prints the description of the API, as returned by GET /api/openapi.json, or writes it to a file.',
  example: 'openapi --out openapi.json',
  options: Type.Object({
    out: Type.Optional(Type.String({ minLength: 1, description: 'The file to write to instead of printing' })),
  }),
  needs: { routes: Routes, settings: Settings, environment: Environment },
  async run(sources, { out }, console) {
    const text = JSON.stringify(openApi(sources), undefined, 2);
    if (out === undefined) return console.print(text);
    await writeFile(out, `${text}\n`);
    console.print(`Written to ${out}.`);
  },
});
