import { resolve } from 'node:path';

/** The project's root: the folder above core/. */
export const ROOT = resolve(import.meta.dirname, '../..');
