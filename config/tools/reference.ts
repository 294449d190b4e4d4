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
      'Services that each plugin requires (needs), uses if available (wants) and offers (provides).',
      pluginsPage(collected),
    ],
    hooks: [
      'Hooks',
      'Only the owner raises a hook; any plugin may listen. Public hooks also reach integrators.',
      hooksPage(collected, described),
    ],
    'extension-points': [
      'Extension points',
      'Lists that any plugin adds to with `plugin.extend(point, value, order)` and that their owner reads. `order` is a number, 0 by default: lower comes first, and equal ones keep the order in which their plugins started. The last column says what the order affects. Extension points that many plugins fill so that one of them can work for all, such as `audit.rules` or `privacy.personal-data`, are ports: they consist of refs and types only.',
      extensionPointsPage(collected, described),
    ],
    services: [
      'Services',
      'What plugins offer under `provides` and others request by token, under `needs` or `wants`.',
      servicesPage(collected, described),
    ],
    'plugin-interfaces': [
      'Plugin interfaces',
      'What plugins declare and call: the definition, the handle, listeners, jobs and routes, and what `parley-forum/testing` offers for tests. Additional options for routes of a surface are in [routes](routes.md).',
      pluginInterfacesPage(root),
    ],
    templates: [
      'Templates',
      'What templates of themes and views of plugins can use. A theme replaces a template by its name, and `@plugin/name` as `templates/plugins/<plugin>/<name>.hbs`; `{{> name key=value}}` includes one. Blocks are `#if`, `#unless`, `#each` and `#with`.',
      templatesPage(templates(root), helpers(root), templateData(root), icons(root)),
    ],
    client: [
      'In the browser',
      'What modules in a plugin’s `client/` import from `@forum/client`, the elements that plugins define there, and the events dispatched on `document`. Those that begin with `parley:` come from the live stream, if the page has one.',
      clientPage(clientSide(root), collected, described),
    ],
    slots: [
      'Slots',
      'Places in pages that any plugin fills with `plugin.extend(slotFillings, fill(slot, render), order)`; themes refer to them by id in `{{slot "…"}}`. A filling gets the contexts of all places of a page at once; those of slots without one are empty. Lower `order` comes first.',
      slotsPage(collected, described, slotPlaces(root)),
    ],
    'api-report': [
      'API report',
      'The public interface: everything that the package’s modules export, and the types behind it. `npm run check` compares it with [the last release](../../config/tools/api/released.md); [stability](../stability.md) explains what that means.',
      writeReport(await readSurface(root, versions)),
    ],
    settings: [
      'Settings',
      'Live values; those marked restart restart their plugin when changed; secrets are stored encrypted and never shown.',
      settingsPage(collected),
    ],
    permissions: [
      'Permissions',
      'Granted to the named group and those above it, unless an administrator decides otherwise.',
      permissionsPage(collected),
    ],
    commands: [
      'Commands',
      'As shown by `--help`. In a site, use `npx parley` instead of `npm run parley --`.',
      commandsPage(collected),
    ],
    environment: [
      'Environment variables',
      'Read once at startup; all problems are reported together.',
      table(['Variable', 'Meaning', 'Default'], environmentRows(root)),
    ],
    routes: ['Routes', 'All routes of running plugins, by surface.', routesPage(collected)],
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
