import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { configurationFile } from '../host/site.ts';
import { ConfigurationError } from '../errors.ts';

/** The list of plugins in a configuration: its opening, its entries and the whitespace before its closing bracket. */
const LIST = /(plugins:\s*\[)([^\]]*?),?(\s*)\]/;

/** Appends a plugin to the list in the site's config/forum.ts; resolves to the path of that file. */
export function addToConfiguration(site: string, name: string): Promise<string> {
  return rewrite(site, name, (text) =>
    text.replace(LIST, (_all, open: string, list: string, space: string) =>
      // A multi-line list gets a new line, indented like its first one.
      space === ''
        ? `${open}${list}${list.trim() === '' ? '' : ', '}'${name}']`
        : `${open}${list},${/^\s+/.exec(list)?.[0] ?? ' '}'${name}',${space}]`,
    ),
  );
}

/** Whether the list contains the plugin. */
export const isConfigured = (site: string, name: string): boolean =>
  (LIST.exec(readFileSync(configurationFile(site)!, 'utf8'))?.[2] ?? '').split(/['"`]/).includes(name);

/** Removes a plugin from that list; resolves to false if it was not in it. */
export async function removeFromConfiguration(site: string, name: string): Promise<boolean> {
  const entry = new RegExp(`\\s*(['"\`])${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}\\1\\s*?,?`);
  const without = (list: string): string => list.replace(entry, '').replace(/^,/, '');
  return rewrite(site, name, (text) =>
    text.replace(/(plugins:\s*\[)([^\]]*)(\])/, (_all, open: string, list: string, close: string) =>
      [open, without(list), close].join(''),
    ),
  ).then(
    () => true,
    () => false,
  );
}

async function rewrite(site: string, name: string, change: (text: string) => string): Promise<string> {
  const file = configurationFile(site);
  if (file === undefined) throw new ConfigurationError(`There is no config/forum.ts in ${site}`);
  const path = relative(site, file);
  const before = await readFile(file, 'utf8');
  const after = change(before);
  if (after === before)
    throw new ConfigurationError(`${path} has no \`plugins: [ … ]\` list to edit for "${name}"; edit it manually`);
  await writeFile(file, after);
  return path;
}
