import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { App, AppOptions } from '../app.ts';
import { ConfigurationError } from '../../errors.ts';
import { SITE } from '../site.ts';
import { BrowserChannel } from './browser-channel.ts';
import { ModuleGraph } from './module-graph.ts';
import { Problems } from './problems.ts';
import { Reloader, watchedFolders } from './reloader.ts';
import { watchFiles } from './watch-files.ts';

/** How a server for plugin development differs from others. */
export interface Development {
  /** Adapts the program's options to development. */
  change(options: AppOptions): AppOptions;
  /** Watches the files of a program whose plugins have been started. */
  attend(app: App): void;
}

/**
 * Call before any plugin is imported: imports made earlier are unknown, so their changes could not be traced to
 * plugins.
 */
export function beginDevelopment(): Development {
  const modules = new ModuleGraph();
  modules.observe();
  const problems = new Problems();
  const browsers = new BrowserChannel(problems);
  return {
    change(options) {
      if (options.environment.production)
        throw new ConfigurationError('NODE_ENV is production; `parley dev` exposes internals to visitors, so unset it');
      return {
        ...options,
        environment: { ...options.environment, development: true, serverTiming: true },
        overrides: overridesIn(process.argv.slice(3)),
        log: problems.listenTo(options.log),
        around: browsers.around,
      };
    },
    attend(app) {
      const reloader = new Reloader({ site: SITE, app, modules });
      let applying = Promise.resolve();
      const changed = (files: readonly string[]): void => {
        applying = applying.then(async () => {
          const start = performance.now();
          let plugins: readonly string[] = [];
          await browsers.during(async () => {
            problems.clear();
            plugins = await reloader.apply(files).catch((error: unknown) => {
              app.log.error({ error, files }, 'the changes could not be applied');
              return [];
            });
          });
          if (problems.list().length > 0) return;
          app.log.info({ files, plugins, milliseconds: Math.round(performance.now() - start) }, 'reloaded');
          watchElsewhere();
        });
      };
      const stops = [watchFiles([...watchedFolders(SITE), join(app.environment.dataDir, 'themes')], changed)];
      const elsewhere = new Set<string>();
      /** Packages may be added while the program runs. */
      const watchElsewhere = (): void => {
        const folders = reloader.elsewhere().filter((folder) => !elsewhere.has(folder));
        if (folders.length === 0 || app.routes.closing.aborted) return;
        stops.push(watchFiles(folders, changed));
        for (const folder of folders) elsewhere.add(folder);
      };
      watchElsewhere();
      app.routes.closing.addEventListener('abort', () => {
        for (const stop of stops) stop();
        browsers.close();
      });
    },
  };
}

/** Settings for this process only, from the arguments after `dev`. */
function overridesIn(args: readonly string[]): Readonly<Record<string, unknown>> {
  const options = { settings: { type: 'string', default: '{}' }, demo: { type: 'boolean' } } as const;
  return JSON.parse(parseArgs({ args: [...args], options }).values.settings) as Readonly<Record<string, unknown>>;
}
