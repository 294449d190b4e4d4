import { join, relative } from 'node:path';
import type { App } from '../../host/app.ts';
import type { Hook } from '../../hooks.ts';
import type { RecordedCall } from '../../http/call-recorder.ts';
import type { RouteInfo } from '../../http/routes.ts';
import type { Task } from '../../plugins/supervisor.ts';
import { ConfigurationError, didYouMean } from '../../errors.ts';
import { PROGRAM, SITE } from '../../host/site.ts';
import { Type } from '../../schema.ts';
import { defineCommand } from '../command.ts';
import { Program } from '../program.ts';

/** How each kind of hook treats its listeners. */
const MEANINGS: Readonly<Record<Hook['kind'], string>> = {
  action: 'something happened: listeners start together, after the commit',
  filter: 'a value passes through: each listener gets the result of the previous one',
  query: 'a question: the first answer counts, and later listeners are not called',
};
const NO_SERVER = 'No server is running on this data: this is what would run, in order, without timings.';
const NOT_RECORDED =
  'The hooks that a route raises are recorded by `parley dev`, and by a server with SERVER_TIMING=1.';
const NO_CALLS = 'It has not been called since the start, or all its responses were cached.';

export const pluginWhy = defineCommand({
  name: 'plugin why',
  summary: 'Shows what runs, from which plugins and in which order, when a hook is raised or a route is called.',
  example: 'plugin why "GET /healthz"',
  positional: ['name', 'path'],
  options: Type.Object({
    name: Type.String({ description: 'The id of a hook, or the method of a route' }),
    path: Type.Optional(Type.String({ description: 'The path of the route, as called or as declared' })),
  }),
  needs: { app: Program },
  run({ app }, { name, path }, console) {
    const asked = path === undefined ? name : `${name} ${path}`;
    const hook = hooksOf(app).find(({ id }) => id === asked);
    const route = hook ? undefined : findRoute(app, asked);
    if (!hook && !route) throw unknown(app, asked);
    const lines = hook ? hookLines(app, hook, '') : routeLines(app, route!);
    for (const line of app.serving ? lines : [...lines, '', NO_SERVER]) console.print(line);
  },
});

/** The hooks of the kernel and of all installed plugins, running or not. */
function hooksOf({ kernel, hooks }: App): readonly Hook[] {
  const installed = kernel.graph.all().flatMap((plugin) => plugin.hooks ?? []);
  return [
    ...hooks
      .hooks()
      .filter(({ plugin }) => plugin === 'kernel')
      .map(({ hook }) => hook),
    ...installed,
  ];
}

const pathOf = ({ surface, path }: RouteInfo<any>): string => `${surface.prefix === '/' ? '' : surface.prefix}${path}`;
const nameOf = (route: RouteInfo<any>): string => `${route.method.toUpperCase()} ${pathOf(route)}`;

function findRoute({ routes }: App, asked: string): RouteInfo<any> | undefined {
  const [, method = '', path = ''] = /^([a-z]+) +(\/\S*)$/i.exec(asked) ?? [];
  const declared = `${method.toUpperCase()} ${path}`;
  return routes.list().find((route) => nameOf(route) === declared) ?? routes.find(method, path.split('?')[0]!);
}

/** Path of a page of the reference, relative to the site's folder. */
const reference = (page: string): string => relative(SITE, join(PROGRAM, `docs/reference/${page}.md`));

function unknown(app: App, asked: string): ConfigurationError {
  const names = [...hooksOf(app).map(({ id }) => id), ...app.routes.list().map(nameOf)];
  const otherwise = `${reference('hooks')} and ${reference('routes')} list them`;
  return new ConfigurationError(`No hook or route is called "${asked}"; ${didYouMean(asked, names, otherwise)}`);
}

function hookLines(app: App, hook: Hook, indent: string): readonly string[] {
  const owner = app.hooks.hooks().find((one) => one.hook.id === hook.id)?.plugin;
  const durable = app.supervisor.report().filter(({ task }) => task === `durable ${hook.id}`);
  const rows = [
    ...app.hooks.listeners(hook).map(({ task, order, awaited }) => ({
      plugin: task.plugin,
      how: [hook.kind === 'action' ? (awaited ? 'awaited' : 'not awaited') : `order ${order}`],
      task,
    })),
    ...(hook.kind === 'action' ? durable : []).map((task) => ({ plugin: task.plugin, how: ['as a job'], task })),
  ];
  const table = columns(
    rows.map(({ plugin, how, task }, at) => [`${at + 1}.`, plugin, ...how, ...(app.serving ? [tookOf(task)] : [])]),
  );
  const raised = raisedBy(app, hook);
  return [
    `${indent}${hook.kind} ${hook.id}, of ${owner ?? 'a plugin that is off'}; ${MEANINGS[hook.kind]}`,
    ...(table.length > 0 ? table : ['no listeners']).map((line) => `${indent}  ${line}`),
    ...(indent === '' && raised.length > 0 ? ['', `Raised by the last calls of ${raised.join(', ')}.`] : []),
  ];
}

const tookOf = ({ calls, time, last, failures }: Pick<Task, 'calls' | 'time' | 'last' | 'failures'>): string =>
  calls === 0
    ? 'not called yet'
    : `${last.toFixed(1)} ms the last time, ${(time / calls).toFixed(1)} ms on average over ${calls}${failures > 0 ? `, ${failures} failed` : ''}`;

const raisedBy = ({ calls, routes }: App, hook: Hook): readonly string[] =>
  routes
    .list()
    .filter((route) => calls?.callsOf(route).some(({ hooks }) => hooks.some(({ id }) => id === hook.id)))
    .map(nameOf)
    .sort();

function routeLines(app: App, route: RouteInfo<any>): readonly string[] {
  const { can, surface, plugin } = route;
  const given = Object.entries(route.options as object).map(([name, value]) =>
    typeof value === 'function' ? name : `${name}: ${JSON.stringify(value)}`,
  );
  const facts = [
    ['surface', `${surface.id} (${surface.prefix})`],
    ['plugin', plugin],
    ['can', typeof can === 'string' ? can : `${can.id}: those who may ${can.label}`],
    ['options', given.join(', ') || 'none'],
  ];
  return [
    `${nameOf(route)}${route.summary === undefined ? '' : `: ${route.summary}`}`,
    ...columns(facts).map((line) => `  ${line}`),
    ...(app.serving ? ['', ...callLines(app, route)] : []),
  ];
}

function callLines(app: App, route: RouteInfo<any>): readonly string[] {
  if (!app.calls) return [NOT_RECORDED];
  const calls = app.calls.callsOf(route);
  if (calls.length === 0) return [NO_CALLS];
  const raised = new Set(calls.flatMap(({ hooks }) => hooks.map(({ id }) => id)));
  const hooks = hooksOf(app).filter(({ id }) => raised.has(id));
  return [
    'Last calls that reached its handler:',
    ...calls.flatMap((call) => [
      `  ${new Date(call.at).toISOString()}  ${summaryOf(call)}`,
      ...columns(
        call.parts.map(({ plugin, what, times, milliseconds }) => [
          plugin,
          what,
          `${milliseconds.toFixed(1)} ms${times > 1 ? ` in ${times} calls` : ''}`,
        ]),
      ).map((line) => `    ${line}`),
    ]),
    '',
    hooks.length === 0 ? 'They raised no hooks.' : 'Hooks that they raised:',
    ...[...raised].flatMap((id) =>
      hooks.filter((hook) => hook.id === id).flatMap((hook) => hookLines(app, hook, '  ')),
    ),
  ];
}

const summaryOf = ({ milliseconds, statements, sql }: RecordedCall): string =>
  `${milliseconds.toFixed(1)} ms, ${statements} ${statements === 1 ? 'statement' : 'statements'} in ${sql.toFixed(1)} ms`;

/** Formats rows as lines, padding each cell to the width of its column. */
function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
