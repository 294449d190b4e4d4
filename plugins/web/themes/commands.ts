import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  commandLine,
  ConfigurationError,
  defineCommand,
  develop,
  didYouMean,
  Environment,
  RUN,
  Settings,
  Type,
  writeTemplate,
} from 'parley-forum';
import { Web, type ThemeReport } from 'parley-forum/plugins/web';
import { installedThemes, loadChain, MAX_DEPTH, ROOT_THEME, themeFolders } from './themes.ts';

const TEMPLATE = join(import.meta.dirname, 'template');
const SETTING = 'site.theme';
const ID = 'A folder in themes/, as `theme list` shows it';

/** Throws, listing the installed themes, if a theme is not among them. */
function assertInstalled(id: string, themes: readonly string[]): void {
  if (themes.includes(id)) return;
  const meant = didYouMean(id, themes, 'choose one of them');
  throw new ConfigurationError(`There is no theme "${id}" among ${themes.join(', ')}; ${meant}`);
}

const list = defineCommand({
  name: 'theme list',
  summary: 'Lists the themes, which one is in use, which theme each extends, and why one cannot be used.',
  options: Type.Object({}),
  needs: { web: Web, settings: Settings },
  run({ web, settings }, _options, console) {
    const chosen = String(settings.get(SETTING));
    // The chosen theme may no longer be installed.
    const all = [...new Set([...web.themes, chosen])].sort().map((id) => web.inspectTheme(id));
    const widthOf = (key: 'id' | 'name'): number => Math.max(...all.map((theme) => theme[key].length));
    const stateOf = ({ id, problems }: ThemeReport): string =>
      id === chosen ? 'in use' : problems.length > 0 ? 'broken' : 'ready';
    for (const theme of all) {
      const { id, name, parent, problems } = theme;
      const words = [
        id.padEnd(widthOf('id')),
        stateOf(theme).padEnd('in use'.length),
        name.padEnd(widthOf('name')),
        ...(parent === undefined ? [] : [`extends ${parent}`]),
        ...problems.slice(0, 1),
        ...(problems.length > 1 ? [`and ${problems.length - 1} more: ${RUN} theme check ${id}`] : []),
      ];
      console.print(words.join('  ').trimEnd());
    }
  },
});

const use = defineCommand({
  name: 'theme use',
  summary: 'Switches the site to a theme, also in a running server; a theme that breaks the rules is rejected.',
  example: 'theme use harbour',
  positional: ['id'],
  options: Type.Object({ id: Type.String({ description: ID }) }),
  needs: { web: Web },
  async run({ web }, { id }, console) {
    assertInstalled(id, web.themes);
    await web.useTheme(id, commandLine);
    console.print(`${id} is in use.`);
    const { themeWarning } = web;
    if (themeWarning !== undefined) console.print(themeWarning);
  },
});

const newTheme = defineCommand({
  name: 'theme new',
  summary: 'Creates a small working theme to start from.',
  example: 'theme new harbour',
  positional: ['id'],
  options: Type.Object({
    id: Type.String({ description: 'Lowercase words joined by "-"; also the folder’s name' }),
    parent: Type.String({ default: ROOT_THEME, description: 'The theme that it extends' }),
  }),
  needs: { environment: Environment },
  async run({ environment }, { id, parent }, console) {
    const folders = themeFolders(environment);
    if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(id))
      throw new ConfigurationError(
        `"${id}" is not a valid id: use lowercase words joined by "-", such as harbour or night-sky`,
      );
    if (folders.some((folder) => existsSync(join(folder, id))))
      throw new ConfigurationError(`There is already a theme "${id}" or a folder of that name; choose another id`);
    assertInstalled(parent, installedThemes(folders));
    if (loadChain(parent, folders).length === MAX_DEPTH)
      throw new ConfigurationError(`"${parent}" has ${MAX_DEPTH - 1} ancestors, which is the maximum`);
    const words = id.replaceAll('-', ' ');
    const names = { Label: words[0]!.toUpperCase() + words.slice(1), parent, id };
    for (const path of await writeTemplate(TEMPLATE, join(environment.siteDir, 'themes', id), names))
      console.print(`wrote themes/${id}/${path}`);
    console.print(
      `\nPreview it as you edit: ${RUN} theme dev ${id}\nCheck it for problems:  ${RUN} theme check ${id}\nShow it to everyone:    ${RUN} theme use ${id}`,
    );
  },
});

const check = defineCommand({
  name: 'theme check',
  summary: 'Checks themes completely, as before they are used, and reports every problem with its file and line.',
  example: 'theme check harbour',
  positional: ['id'],
  options: Type.Object({ id: Type.Optional(Type.String({ description: 'Only this one' })) }),
  needs: { web: Web },
  run({ web }, { id: only }, console) {
    if (only !== undefined) assertInstalled(only, web.themes);
    const all = (only === undefined ? web.themes : [only]).map((id) => web.inspectTheme(id));
    for (const { id, problems, warnings } of all) {
      console.print(problems.length > 0 ? `${id} cannot be used:` : `${id} can be used.`);
      for (const line of [...problems, ...warnings]) console.print(`  ${line}`);
    }
    const broken = all.filter(({ problems }) => problems.length > 0).length;
    if (broken > 0) throw new ConfigurationError(`${broken} of ${all.length} cannot be used; fix the problems above.`);
  },
});

const dev = defineCommand({
  name: 'theme dev',
  summary:
    'Runs the site as `dev` does, with a theme that only this server shows, whatever the setting is: saved changes are live immediately, and nothing is stored.',
  example: 'theme dev harbour --demo',
  positional: ['id'],
  options: Type.Object({
    id: Type.Optional(Type.String({ description: 'A folder in themes/; default: the theme in use' })),
    demo: Type.Boolean({ default: false, description: 'Install with demo content if nothing is installed yet' }),
  }),
  needs: { environment: Environment },
  async run({ environment }, { id, demo }, console) {
    if (id !== undefined) assertInstalled(id, installedThemes(themeFolders(environment)));
    await develop({ demo, settings: id === undefined ? {} : { [SETTING]: id } }, console);
  },
});

/** `theme list|use|new|check|dev`. */
export const themeCommands = [list, use, newTheme, check, dev] as const;
