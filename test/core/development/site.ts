import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { lendAssets, keepAssets } from '../../kit/assets.ts';
import { makeTestPlace } from '../../kit/database.ts';
import { parleyWith, startServer, type ServerProcess } from '../fixtures/server-process.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
/** The plugins that pages require, and the one that the tests write. */
const PLUGINS = [
  'cache',
  'secrets',
  'access',
  'limits',
  'protection',
  'accounts',
  'markdown',
  'api',
  'web',
  'greeting',
];

/** The config/forum.ts of a site that is already installed. */
export const configurationOf = (...more: readonly string[]): string =>
  `export default {
  plugins: ${JSON.stringify([...PLUGINS, ...more])},
  required: [],
  settings: { 'kernel.installed_at': '2026-01-15T12:00:00.000Z', 'site.theme': 'own' },
};
`;

/** A plugin with a page, whose handler is `handler` and whose `setup` starts with `setup`. */
export const greetingPlugin = ({ handler = '', setup = '' } = {}): string =>
  `import { definePlugin } from 'parley-forum';
import { defineSlot, pages, view } from 'parley-forum/plugins/web';
import { words } from './words.ts';

export default definePlugin({
  id: 'greeting',
  setup(_services, plugin) {
    ${setup}
    plugin.route(pages, { method: 'get', path: '/greeting', can: 'public' })(() => {
      ${handler}
      return view('@greeting/greeting', { name: 'greeting', title: 'Greeting' }, { words });
    });
  },
});
`;

export const VIEW = '<p class="words">{{words}}</p>\n{{slot "greeting.end"}}\n';

/** The files of the site before a test changes it. */
const FILES: Readonly<Record<string, string>> = {
  'package.json': '{ "type": "module" }',
  'config/forum.ts': configurationOf(),
  'plugins/greeting/plugin.ts': greetingPlugin(),
  'plugins/greeting/words.ts': `export const words = 'hello';\n`,
  'plugins/greeting/views/greeting.hbs': VIEW,
  'plugins/greeting/locales/en.json': '{ "end": "Bye" }\n',
  'themes/own/theme.json': '{ "id": "own", "name": "Own", "version": "1.0.0", "api": 1, "extends": "default" }\n',
  'themes/own/templates/partials/empty.hbs': '<p>Nothing</p>\n',
};

/** A site in a folder of its own, served by a separate process. */
export interface DevelopmentSite extends AsyncDisposable {
  readonly folder: string;
  /** Writes a file of the site. */
  write(path: string, text: string): Promise<void>;
  /** Like `write`, but as editors do that write a temporary file and rename it. */
  replace(path: string, text: string): Promise<void>;
  /** Removes a file or folder of the site. */
  remove(path: string): Promise<void>;
  /** Restores one file, or all, to the original. */
  mend(path?: string): Promise<void>;
  /** Starts `parley dev`, or another command line. */
  start(...command: readonly string[]): Promise<ServerProcess>;
  /** Runs another command of `parley`; resolves to its output, and throws it on failure. */
  parley(...words: readonly string[]): Promise<string>;
}

export async function makeSite(): Promise<DevelopmentSite> {
  const place = await makeTestPlace();
  await lendAssets(place.folder);
  const root = await mkdtemp(join(tmpdir(), 'parley-dev-'));
  // The location of a site does not affect its content.
  const folder = join(root, 'test/themes');
  const started: ServerProcess[] = [];
  const site: DevelopmentSite = {
    folder,
    async write(path, text) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    },
    async replace(path, text) {
      await writeFile(join(folder, `${path}~`), text);
      await rename(join(folder, `${path}~`), join(folder, path));
    },
    remove: (path) => rm(join(folder, path), { recursive: true }),
    async mend(path) {
      for (const [name, text] of Object.entries(FILES))
        if (path === undefined || path === name) await site.write(name, text);
    },
    async start(...command) {
      const words = command.length > 0 ? command : [process.execPath, join(ROOT, 'core/cli/main.ts'), 'dev'];
      const server = await startServer(place, words, { PARLEY_SITE: folder, BASE_URL: 'http://localhost' });
      started.push(server);
      return server;
    },
    parley: (...words) => parleyWith({ PARLEY_SITE: folder }, place, ...words),
    async [Symbol.asyncDispose]() {
      for (const server of started) await server.end('SIGTERM').catch(() => undefined);
      await keepAssets(place.folder);
      await place.remove();
      await rm(root, { recursive: true, force: true });
    },
  };
  await site.mend();
  return site;
}
