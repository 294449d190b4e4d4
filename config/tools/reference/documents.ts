import { commandHelp } from '../../../core/cli/parse.ts';
import type { ClientSide } from './client.ts';
import type { ExtensionPoint, Tokens } from '../../../core/ref.ts';
import type { Permission, RouteInfo } from '../../../core/http/routes.ts';
import { compare, type Collected } from './collect.ts';
import { findRef, type ContractRef } from './described.ts';
import { membersOf, PLUGIN_INTERFACES, type Documented } from './members.ts';
import { code, codes, table } from './markdown.ts';
import type { SlotPlace } from './slot-places.ts';

const tokens = (record: Tokens | undefined): string => codes(Object.values(record ?? {}).map(({ id }) => id));

/** All installed plugins with what they need, want and provide. */
export function pluginsPage({ plugins }: Collected): string {
  return table(
    ['Plugin', 'What it does', 'Needs', 'Wants', 'Provides'],
    plugins.map((plugin) => [
      code(plugin.id),
      plugin.description ?? '',
      tokens(plugin.needs),
      tokens(plugin.wants),
      tokens(plugin.provides),
    ]),
  );
}

/** All hooks by owner, with the module to import each from. */
export function hooksPage({ hooks, listeners }: Collected, refs: readonly ContractRef[]): string {
  return table(
    ['Hook', 'Kind', 'Owner', 'Public', 'Listeners', 'Import', 'Meaning'],
    hooks.map(({ plugin: owner, hook }) => {
      const durable = (listeners.get(`durable ${hook.id}`) ?? []).map((id) => `${code(id)} (durable)`);
      const direct = (listeners.get(`${hook.kind} ${hook.id}`) ?? []).map(code);
      const about = findRef(refs, `${hook.kind[0]!.toUpperCase()}${hook.kind.slice(1)}`, hook.id);
      const kind = hook.kind === 'filter' ? `filter, ${hook.failure}s on failure` : hook.kind;
      return [
        code(hook.id),
        kind,
        code(owner),
        'public' in hook && hook.public ? 'yes' : '',
        [...direct, ...durable].join(', '),
        source(about),
        about?.text ?? '',
      ];
    }),
  );
}

/** All extension points, with the plugins that add to them. */
export function extensionPointsPage({ plugins, contributors }: Collected, refs: readonly ContractRef[]): string {
  const owned = plugins.flatMap((plugin) =>
    ((plugin.extensionPoints ?? []) as readonly ExtensionPoint<unknown>[]).map((point) => ({
      owner: plugin.id,
      point,
    })),
  );
  return table(
    ['Extension point', 'Owner', 'Added to by', 'Import', 'Meaning', 'Order'],
    owned
      .sort((a, b) => compare(a.point.id, b.point.id))
      .map(({ owner, point }) => {
        return [
          code(point.id),
          code(owner),
          codes(contributors.get(point.id) ?? []),
          source(findRef(refs, 'ExtensionPoint', point.id)),
          point.description,
          point.order ?? 'Has no effect.',
        ];
      }),
  );
}

/** All slots, with the plugins that fill them and the templates that contain them. */
export function slotsPage({ fillings }: Collected, refs: readonly ContractRef[], places: readonly SlotPlace[]): string {
  return table(
    ['Slot', 'Where, and what belongs there', 'Context', 'Import', 'Filled by', 'Templates'],
    refs
      .filter(({ kind }) => kind === 'Slot')
      .toSorted((a, b) => compare(a.id, b.id))
      .map((slot) => [
        code(slot.id),
        slot.text,
        slot.type === 'object' ? '' : code(slot.type),
        source(slot),
        codes(fillings.get(slot.id) ?? []),
        codes([...new Set(places.filter(({ id }) => id === slot.id).map(({ path }) => path))]),
      ]),
  );
}

/** All services by token, with the plugins that provide and use them. */
export function servicesPage({ plugins }: Collected, refs: readonly ContractRef[]): string {
  const using = (list: 'needs' | 'wants', id: string): readonly string[] =>
    plugins
      .filter((plugin) => Object.values((plugin[list] ?? {}) as Tokens).some((token) => token.id === id))
      .map((plugin) => plugin.id);
  return table(
    ['Service', 'Provided by', 'What it does', 'Import', 'Needed by', 'Wanted by'],
    refs
      .filter(({ kind }) => kind === 'Token')
      .toSorted((a, b) => compare(a.id, b.id))
      .map((token) => [
        code(token.id),
        code(token.owner),
        token.text,
        source(token),
        codes(using('needs', token.id)),
        codes(using('wants', token.id)),
      ]),
  );
}

/** The members of plugin definitions, handles, routes and jobs, with a table for each interface. */
export function pluginInterfacesPage(root: string): string {
  return PLUGIN_INTERFACES.map(
    ([path, name]) => `## ${name}\n\n${documentedTable('Member', membersOf(root, path, name))}`,
  ).join('\n\n');
}

/** Helpers of the template language, icons, shared templates and views. */
export function templatesPage(
  all: readonly Documented[],
  helpers: readonly Documented[],
  data: readonly Documented[],
  icons: readonly string[],
): string {
  const [views, shared] = [true, false].map((view) =>
    table(
      ['Name', 'What it is: what it gets'],
      all.filter(({ name }) => name.startsWith('@') === view).map(({ name, text }) => [code(name), text]),
    ),
  );
  const usages = table(
    ['Helper', 'Prints'],
    helpers.map(({ signature, text }) => [code(signature), text]),
  );
  const drawn = `The names for \`icon\`, and for navigation entries. A theme adds its own in icons.json; an unknown icon is omitted:\n\n${codes(icons)}`;
  const variables = table(
    ['Variable', 'Type', 'What it is'],
    data.map(({ name, signature, text }) => [code(name), signature === '' ? '' : code(signature), text]),
  );
  return `## Helpers\n\n${usages}\n\n## Variables\n\nAvailable in every template in addition to what it gets, at any depth.\n\n${variables}\n\n## Icons\n\n${drawn}\n\n## Templates of the default theme\n\n${shared}\n\n## Views of plugins\n\n${views}`;
}

/** What is available to scripts of plugins and themes in a browser. */
export function clientPage(
  { exports, elements, events }: ClientSide,
  { hooks, signals }: Collected,
  refs: readonly ContractRef[],
): string {
  const live: ReadonlyArray<readonly string[]> = [
    ...hooks.flatMap(({ plugin, hook }) =>
      hook.kind === 'action' && hook.public
        ? [
            [
              code(`parley:${hook.id}`),
              code(plugin),
              `${findRef(refs, 'Action', hook.id)?.text ?? ''} \`detail\` is the event as webhooks get it: \`{ id, event, timestamp, data }\`.`,
            ],
          ]
        : [],
    ),
    [code('parley:reset'), code('live'), 'Messages may have been missed: reload what they keep up to date.'],
    ...signals.map(({ plugin, name, description }) => [code(`parley:${name}`), code(plugin), description]),
  ];
  const dispatched = events.map(({ name, plugin, text }) => [code(name), code(plugin), text]);
  return [
    `## @forum/client\n\n${documentedTable('Export', exports)}`,
    `## Elements\n\n${table(
      ['Element', 'Plugin', 'What it does'],
      elements.map(({ name, plugin, text }) => [code(name), code(plugin), text]),
    )}`,
    `## Events of the document\n\n${table(['Event', 'Plugin', 'When'], [...dispatched, ...live])}`,
  ].join('\n\n');
}

const documentedTable = (head: string, all: readonly Documented[]): string =>
  table(
    [head, 'Declared as', 'What it is'],
    all.map(({ name, signature, text }) => [code(name), signature === '' ? '' : code(signature), text]),
  );

/** All settings; the marks show schema properties beyond the type. */
export function settingsPage({ settings }: Collected): string {
  return table(
    ['Key', 'Plugin', 'Default', 'Marks', 'Meaning'],
    settings.map(({ key, plugin, schema }) => {
      const about = schema as { default?: unknown; title?: string; description?: string };
      const marks = ['secret', 'restart', 'danger', 'deprecated'].filter((mark) => `x-${mark}` in schema);
      return [
        code(key),
        code(plugin),
        'default' in about ? code(JSON.stringify(about.default)) : '',
        marks.join(', '),
        [about.title, about.description].filter(Boolean).join(': '),
      ];
    }),
  );
}

/** All permissions that routes require or plugins list, with the group that has each by default. */
export function permissionsPage({ plugins, routes }: Collected): string {
  const listed = plugins.flatMap((plugin) =>
    ((plugin.permissions ?? []) as readonly Permission[]).map((permission) => ({ plugin: plugin.id, permission })),
  );
  const asked = routes.flatMap(({ plugin, can }) => (typeof can === 'string' ? [] : [{ plugin, permission: can }]));
  const byId = new Map([...asked, ...listed].map((entry) => [entry.permission.id, entry]));
  return table(
    ['Permission', 'Plugin', 'May …', 'From'],
    [...byId.values()]
      .sort((a, b) => compare(a.permission.id, b.permission.id))
      .map(({ plugin, permission }) => [code(permission.id), code(plugin), permission.label, permission.default]),
  );
}

/** The output of each command's `--help`. */
export function commandsPage({ commands }: Collected): string {
  return commands
    .toSorted((a, b) => compare(a.command.name, b.command.name))
    .map(({ command }) => `## ${command.name}\n\n\`\`\`text\n${commandHelp(command)}\n\`\`\``)
    .join('\n\n');
}

/** All paths by surface, with the options that routes of that surface may have. */
export function routesPage({ routes }: Collected): string {
  const surfaces = Map.groupBy(routes, (route) => route.surface.id);
  return [...surfaces]
    .sort(([a], [b]) => compare(a, b))
    .map(
      ([id, own]) =>
        `## ${id}\n\n${optionRows(own[0]!)}${table(['Method', 'Path', 'Who', 'Plugin', 'Summary'], own.toSorted(byPath).map(routeRow))}`,
    )
    .join('\n\n');
}

function optionRows({ surface: { options, deprecatedOptions } }: RouteInfo): string {
  const instead = deprecatedOptions as Readonly<Record<string, string | undefined>>;
  const rows = Object.entries(options as Readonly<Record<string, string>>).map(([name, text]) => [
    code(name),
    instead[name] === undefined ? text : `${text} Deprecated: ${instead[name]}.`,
  ]);
  return rows.length > 0 ? `${table(['Route option', 'Meaning'], rows)}\n\n` : '';
}

const pathOf = ({ surface, path }: RouteInfo): string =>
  `${surface.prefix === '/' ? '' : surface.prefix}${path}` || '/';
const byPath = (a: RouteInfo, b: RouteInfo): number => compare(pathOf(a), pathOf(b)) || compare(a.method, b.method);
const routeRow = (route: RouteInfo): readonly string[] => [
  route.method.toUpperCase(),
  code(pathOf(route)),
  route.can === 'public' ? 'everyone' : route.can === 'member' ? 'members' : code(route.can.id),
  code(route.plugin),
  route.summary ?? '',
];

const source = (about: ContractRef | undefined): string => (about ? code(`${about.name} from '${about.from}'`) : '');
