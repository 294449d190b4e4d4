import { describe, expect, test } from 'vitest';
import { definePlugin, defineToken, type Plugin } from 'parley-forum';
import { loadPlugins } from '../../core/host/loader.ts';
import { readConfiguration, SITE } from '../../core/host/site.ts';
import { Graph } from '../../core/plugins/graph.ts';
import type { Tokens } from '../../core/ref.ts';
import { testLog } from '../kit/template.ts';

const Paper = defineToken<number>('Paper');
const Ink = defineToken<number>('Ink');
const Press = defineToken<number>('Press');

const paper = definePlugin({ id: 'paper', provides: { paper: Paper }, setup: () => ({ paper: 1 }) });
const ink = definePlugin({ id: 'ink', provides: { ink: Ink }, setup: () => ({ ink: 1 }) });
const press = definePlugin({
  id: 'press',
  needs: { paper: Paper, ink: Ink },
  provides: { press: Press },
  setup: () => ({ press: 1 }),
});
const news = definePlugin({ id: 'news', needs: { press: Press }, wants: { ink: Ink }, setup: () => {} });

function graphOf(...plugins: readonly Plugin[]): Graph {
  const graph = new Graph();
  for (const plugin of plugins) graph.add(plugin);
  return graph;
}

describe('the order in which plugins start and stop', () => {
  test('a plugin starts after everything it needs, regardless of installation order', () => {
    expect(graphOf(news, press, ink, paper).startOrder('news')).toEqual(['paper', 'ink', 'press', 'news']);
  });

  test('at boot, no plugin has to restart for an optional service', () => {
    expect(graphOf(news, press, ink, paper).bootOrder()).toEqual(['paper', 'ink', 'press', 'news']);
    const reader = definePlugin({ id: 'reader', wants: { ink: Ink }, setup: () => {} });
    expect(graphOf(reader, paper, ink).bootOrder()).toEqual(['ink', 'reader', 'paper']);
  });

  test('each plugin of a new site starts once, after everything it wants', async () => {
    const plugins = await loadPlugins(SITE, (await readConfiguration(SITE)).plugins, testLog);
    const order = graphOf(...plugins).bootOrder();
    const providers = new Map(
      plugins.flatMap(({ id, provides }) => Object.values((provides ?? {}) as Tokens).map((token) => [token.id, id])),
    );
    const late = plugins.flatMap(({ id, wants }) =>
      Object.values((wants ?? {}) as Tokens)
        .map((token) => providers.get(token.id) ?? id)
        .filter((provider) => order.indexOf(provider) > order.indexOf(id))
        .map((provider) => `${id} before ${provider}`),
    );
    expect(late).toEqual([]);
    expect(order).toHaveLength(plugins.length);
  });

  test('plugins that want each other are all in the boot order, as are those with missing dependencies', () => {
    const tree = definePlugin({
      id: 'tree',
      wants: { ink: Ink },
      provides: { paper: Paper },
      setup: () => ({ paper: 1 }),
    });
    const squid = definePlugin({
      id: 'squid',
      wants: { paper: Paper },
      provides: { ink: Ink },
      setup: () => ({ ink: 1 }),
    });
    expect(graphOf(tree, squid, press).bootOrder()).toEqual(['squid', 'tree', 'press']);
    expect(graphOf(press, paper).bootOrder()).toEqual(['paper', 'press']);
  });

  test('all direct and indirect dependents of a plugin stop before it', () => {
    expect(graphOf(paper, ink, press, news).stopOrder('paper')).toEqual(['news', 'press', 'paper']);
  });

  test('a plugin that only wants a service is listed, but not stopped with its provider', () => {
    const graph = graphOf(paper, ink, press, news);
    expect(graph.wanting('ink')).toEqual(['news']);
    expect(graphOf(ink, news).stopOrder('ink')).toEqual(['ink']);
  });
});

describe('an invalid graph', () => {
  test('a missing provider is reported with the plugin that needs it', () => {
    expect(() => graphOf(paper, press).startOrder('press')).toThrow(
      '[press] needs "Ink", which no installed plugin provides',
    );
  });

  test('two plugins that provide the same service are reported', () => {
    const other = definePlugin({ id: 'octopus', provides: { ink: Ink }, setup: () => ({ ink: 2 }) });
    expect(() => graphOf(ink, other)).toThrow('[octopus] provides "Ink", which plugin "ink" already provides');
  });

  test('a service of the kernel cannot be provided again', () => {
    const graph = new Graph([Ink]);
    expect(() => graph.add(ink)).toThrow('[ink] provides "Ink", which the kernel already provides');
  });

  test('a cycle is reported in full', () => {
    const tree = definePlugin({
      id: 'tree',
      needs: { press: Press },
      provides: { paper: Paper },
      setup: () => ({ paper: 1 }),
    });
    expect(() => graphOf(tree, ink, press).startOrder('tree')).toThrow('tree → press → tree');
  });

  test('a plugin can be installed only once', () => {
    expect(() => graphOf(ink, ink)).toThrow('[ink] is installed twice');
  });

  test('an unknown plugin is reported with a remedy', () => {
    expect(() => graphOf().get('ghost')).toThrow('[ghost] is not installed; put its folder under plugins/');
    expect(() => graphOf(ink).get('inc')).toThrow('[inc] is not installed; did you mean "ink"?');
  });
});
