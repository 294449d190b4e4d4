import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readSurface, writeReport } from './api/report.ts';
import { ARCHITECTURE, architecturePage } from './reference/architecture.ts';
import { clientSide } from './reference/client.ts';
import { collect } from './reference/collect.ts';
import { contractRefs } from './reference/described.ts';
import {
  clientPage,
  commandsPage,
  extensionPointsPage,
  hooksPage,
  permissionsPage,
  pluginInterfacesPage,
  pluginsPage,
  routesPage,
  servicesPage,
  settingsPage,
  slotsPage,
  templatesPage,
} from './reference/documents.ts';
import { environmentRows } from './reference/environment.ts';
import { REFERENCE, table } from './reference/markdown.ts';
import { slotPlaces } from './reference/slot-places.ts';
import { helpers, icons, templateData, templates } from './reference/templates.ts';

/**
 * The text of every generated document by its path relative to the root. Takes seconds: it starts the configured
 * plugins once.
 */
export function generateReference(root: string): Promise<ReadonlyMap<string, string>> {
  const known = generated.get(root) ?? generate(root);
  generated.set(root, known);
  return known;
}

/** Cache by root: `--write` and the subsequent check share one result. */
const generated = new Map<string, Promise<ReadonlyMap<string, string>>>();

async function generate(root: string): Promise<ReadonlyMap<string, string>> {
  const [collected, described] = [await collect(root), contractRefs(root)];
  const versions = new Map(collected.plugins.map(({ id, version = '' }) => [id, version]));
  const pages: Readonly<Record<string, readonly [title: string, introduction: string, body: string]>> = {
    plugins: [
      'Plugins',
      'Services that each plugin cannot do without (needs), uses where they are there (wants) and hands out (provides).',
      pluginsPage(collected),
    ],
    hooks: [
      'Hooks',
      'Only the owner raises a hook; anyone may listen. What is public also reaches integrators.',
      hooksPage(collected, described),
    ],
    'extension-points': [
      'Extension points',
      'Lists that any plugin adds to with `plugin.extend(point, value, order)` and that their owner reads. `order` is a number, 0 where it is not given: lower comes first, and equal ones keep the order in which their plugins started. The last column says what that changes. Those that many plugins fill so that one of them can do its work for all, such as `audit.rules` or `privacy.personal-data`, are ports: the refs and types are the whole agreement.',
      extensionPointsPage(collected, described),
    ],
    services: [
      'Services',
      'What plugins hand out under `provides` and others ask for by the token, under `needs` or `wants`.',
      servicesPage(collected, described),
    ],
    'plugin-interfaces': [
      'Plugin interfaces',
      'What a plugin writes down and calls: its definition, its handle, listeners, jobs and routes, and in its tests what `parley-forum/testing` offers. What routes of one surface may say besides is in [routes](routes.md).',
      pluginInterfacesPage(root),
    ],
    templates: [
      'Templates',
      'What templates of themes and views of plugins have to work with. A theme replaces a template under its name, and `@plugin/name` as `templates/plugins/<plugin>/<name>.hbs`; `{{> name key=value}}` includes one. Blocks are `#if`, `#unless`, `#each` and `#with`.',
      templatesPage(templates(root), helpers(root), templateData(root), icons(root)),
    ],
    client: [
      'In the browser',
      'What modules in a plugin’s `client/` import from `@forum/client`, the elements that plugins define there, and the events that they hear at `document`. Those that begin with `parley:` come from the live stream, while a page has one.',
      clientPage(clientSide(root), collected, described),
    ],
    slots: [
      'Slots',
      'Places in pages that any plugin fills with `plugin.extend(slotFillings, fill(slot, render), order)`; themes name them by id in `{{slot "…"}}`. A filling gets the contexts of all places of a page at once; those of slots without one say nothing. Lower `order` stands first.',
      slotsPage(collected, described, slotPlaces(root)),
    ],
    'api-report': [
      'API report',
      'The public interface: everything that the package’s modules export, and the types behind it. `npm run check` compares it with [the last release](../../config/tools/api/released.md); [stability](../stability.md) says what that means.',
      writeReport(await readSurface(root, versions)),
    ],
    settings: [
      'Settings',
      'Live values; those marked restart restart their plugin, secrets are stored encrypted and never shown.',
      settingsPage(collected),
    ],
    permissions: [
      'Permissions',
      'Everyone of the named group and of those above may, until an administrator decides otherwise.',
      permissionsPage(collected),
    ],
    commands: [
      'Commands',
      'Each as its `--help` shows it. In a site it is `npx parley` in place of `npm run parley --`.',
      commandsPage(collected),
    ],
    environment: [
      'Environment variables',
      'Read once at the start; all problems are reported together.',
      table(['Variable', 'Meaning', 'Without it'], environmentRows(root)),
    ],
    routes: ['Routes', 'Every address that a running plugin answers, by surface.', routesPage(collected)],
  };
  return new Map([
    ...Object.entries(pages).map(
      ([name, [title, introduction, body]]) =>
        [`${REFERENCE}/${name}.md`, document(title, introduction, body)] as const,
    ),
    [ARCHITECTURE, document('Architecture', ...architecturePage(root, collected.plugins))],
  ]);
}

/** Writes the documents of `generateReference`. */
export async function writeReference(root: string): Promise<readonly string[]> {
  const pages = await generateReference(root);
  for (const [path, text] of pages) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return [...pages.keys()];
}

const document = (title: string, introduction: string, body: string): string =>
  `# ${title}\n\n<!-- Generated by \`npm run check -- --write\`; edits are lost. -->\n\n${introduction}\n\n${body}\n`;
