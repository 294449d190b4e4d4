import { useNode } from './host/node-version.ts';

useNode();
const development =
  process.argv[2] === 'dev' ? (await import('./host/development/development.ts')).beginDevelopment() : undefined;
await (await import('./host/preload.ts')).preload();
await (await import('./host/serve.ts')).serve(development);
