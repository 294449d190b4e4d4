import { enableCompileCache } from 'node:module';

// Before anything else is imported: later starts read compiled code instead of stripping types again.
enableCompileCache();
await (await import('./preload.ts')).preload();
const { main } = await import('./start.ts');
process.exitCode = await main(process.argv.slice(2));
