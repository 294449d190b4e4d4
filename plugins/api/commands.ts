import { defineCommand, Environment, Routes, Settings, Type } from '#core';
import { openApi } from './documents.ts';

/** For generators of clients, which want a file rather than a running server. */
export const printOpenApi = defineCommand({
  name: 'openapi',
  summary: 'Prints the description of the API, as GET /api/openapi.json answers it.',
  example: 'openapi > openapi.json',
  options: Type.Object({}),
  needs: { routes: Routes, settings: Settings, environment: Environment },
  run: (sources, _options, console) => console.print(JSON.stringify(openApi(sources), undefined, 2)),
});
