import { enableCompileCache } from 'node:module';

// Before anything else is imported: later starts read compiled code instead of stripping types again.
enableCompileCache();
await (await import('./host/preload.ts')).preload();
await (await import('./host/serve.ts')).serve();
