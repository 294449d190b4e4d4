#!/usr/bin/env node
import { useNode } from '../host/node-version.ts';

useNode();
const { main } = await import('./cli.ts');
process.exitCode = await main(process.argv.slice(2));
