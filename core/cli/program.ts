import type { App } from '../host/app.ts';
import { defineToken } from '../ref.ts';

/** The whole program, for the kernel's own commands: they may reach what no plugin can. Filled in by the runner. */
export const Program = defineToken<App>('Program');
