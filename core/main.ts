import { useNode } from './host/node-version.ts';

useNode();
await (await import('./host/preload.ts')).preload();
await (await import('./host/serve.ts')).serve();
