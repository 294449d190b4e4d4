import type { App } from '../host/app.ts';
import { defineToken } from '../ref.ts';

/**
 * The whole program, for the kernel's own commands, which may access parts that plugins cannot. Supplied by the command
 * runner.
 */
export const Program = defineToken<App>('Program');
