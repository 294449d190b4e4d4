import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { FileCheck } from 'parley-forum';
import { stylesIn } from '../assets/assets.ts';
import { TemplateError } from '../templates/validate.ts';
import { checkStyle } from './stylesheet-checks.ts';
import { templatesOf, type ThemeBundleOptions } from './theme-bundle.ts';
import { checkLocale, loadChain, localeFiles, problemsIn, ROOT_THEME } from './themes.ts';

/**
 * What is wrong with the views, styles and texts of a plugin, which are otherwise read on their first use.
 * Views may include those of every installed plugin.
 */
export function problemsOfFiles(
  { themeFolders, installed, scope }: Pick<ThemeBundleOptions, 'themeFolders' | 'installed' | 'scope'>,
  plugin: Parameters<FileCheck>[0],
): readonly string[] {
  const others = [...installed].map(([id, folder]) => ({ id, folder }));
  const templates = templatesOf(loadChain(ROOT_THEME, themeFolders), { plugins: [...others, plugin], scope });
  const views = globSync('**/*.hbs', { cwd: join(plugin.folder, 'views') }).sort();
  const checks = [
    ...views.map((file) => () => void templates.get(`@${plugin.id}/${file.slice(0, -'.hbs'.length)}`)),
    ...stylesIn(plugin.folder).map((style) => () => checkStyle(style)),
    ...localeFiles([plugin]).map((file) => () => checkLocale(file)),
  ];
  const problems = checks.flatMap((check) => {
    try {
      check();
      return [];
    } catch (error) {
      const found = error instanceof TemplateError ? [error.message] : problemsIn(error);
      if (!found) throw error;
      return found;
    }
  });
  return [...new Set(problems)];
}
