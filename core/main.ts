import { enableCompileCache } from 'node:module';

// Before anything else is imported: later starts read compiled code instead of stripping types again.
enableCompileCache();
await (await import('./cli/preload.ts')).preload();
await (await import('./cli/serve.ts')).serve();
