import { defineExtensionPoint } from '../ref.ts';

/** Returns what is wrong with the files of a plugin, one line each with file and line. */
export type FileCheck = (plugin: { readonly id: string; readonly folder: string }) => readonly string[];

/** Extension point for plugins that use files of others. */
export const fileChecks = defineExtensionPoint<FileCheck>(
  'kernel.file-checks',
  'Checks files of plugins that are not modules, such as templates and texts, before a plugin is installed and for the doctor.',
  { order: 'The order in which problems are listed.' },
);
