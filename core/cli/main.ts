import { enableCompileCache } from 'node:module';

// Before anything else is imported: later starts read compiled code instead of stripping types again.
enableCompileCache();
await (await import('../host/preload.ts')).preload();
const { main } = await import('./cli.ts');
process.exitCode = await main(process.argv.slice(2));
