import { resolve } from 'node:path';
import { definePlugin, HttpError, parse, type Plugin } from '#core';
import { Csrf, Sessions } from '#plugins/accounts';
import { api } from '#plugins/api';
import { pages, type Negotiated, type Redirect, type View } from '#plugins/web';
import { Access, type Viewer } from '#plugins/access';
import { startApp, type TestApp, type TestAppOptions } from '#test';
import { loadMigrations } from '../../../core/loader.ts';
import access from '../../../plugins/access/plugin.ts';
import accounts from '../../../plugins/accounts/plugin.ts';
import limits from '../../../plugins/limits/plugin.ts';

void parse;
const surfaces = definePlugin({
  id: 'surfaces',
  needs: { sessions: Sessions, csrf: Csrf, access: Access },
  setup({ sessions, csrf, access }, plugin) {
    const read = async (req: any): Promise<any> => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      if (text === '') return {};
      return req.headers['content-type']?.includes('json') ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
    };
    const bodies = new WeakMap<object, any>();
    const safe = (m: string) => m === 'GET' || m === 'HEAD';
    plugin.surface(pages, {
      middleware: [sessions.middleware], coerce: true,
      enter: (req, res) => sessions.identify(req, res),
      async guard({ req, actor }, route) {
        if (!safe(req.method)) {
          bodies.set(req, await read(req));
          if (sessions.ended(req)) throw new HttpError(401, 'ended');
          if (!csrf.valid(req, bodies.get(req)['_csrf'])) throw new HttpError(403, 'csrf', { code: 'csrf_failed' });
        }
        if (route.options['login'] && actor.id === undefined) throw new HttpError(401, 'Log in');
      },
      body: (req) => bodies.get(req),
      succeed({ req, res }, result) {
        const json = req.headers.accept === 'application/json';
        const show = (page: View | Redirect) => {
          if (page.kind === 'redirect') return void res.status(page.status).set('Location', page.to).end();
          res.status(page.status).type('html').send(`<meta name="csrf-token" content="${csrf.token(req, res)}">${JSON.stringify(page.model)}`);
        };
        if (result.kind !== 'negotiated') return show(result);
        const { page, json: body, status } = result as Negotiated;
        return json ? void res.status(status).json(body) : show(page);
      },
      fail({ req, res, actor }, error) {
        const known = error instanceof HttpError ? error : undefined;
        if (!known) console.error(error);
        void actor; void req;
        res.status(known?.status ?? 500).set(known?.headers ?? {}).json({ success: false, error: (error as Error).message, code: known?.code, details: known?.details });
      },
    });
    plugin.surface(api, {
      middleware: [sessions.middleware],
      async enter(req, res): Promise<Viewer> {
        const header = req.headers.authorization;
        if (!header?.startsWith('Bearer ')) return sessions.identify(req, res);
        const viewer = await sessions.bearer(header.slice(7));
        if (!viewer) throw new HttpError(401, 'bad token');
        return viewer;
      },
      succeed: ({ res }, result) => void res.json({ success: true, ...result }),
      fail({ res }, error) {
        const known = error instanceof HttpError ? error : undefined;
        if (!known) console.error(error);
        res.status(known?.status ?? 500).json({ success: false, error: (error as Error).message });
      },
    });
    plugin.route(pages, { method: 'get', path: '/', can: 'public' })(({ actor }) => ({ kind: 'view', template: '@x/y', head: { name: 'home', title: 'x' }, model: { username: actor.username ?? null }, status: 200 }) as View);
    void access;
  },
});

const ROOT = resolve(import.meta.dirname, '../../..');
const withMigrations = async (plugin: Plugin): Promise<Plugin> => {
  const migrations = await loadMigrations(resolve(ROOT, 'migrations', plugin.id));
  return migrations.length > 0 ? { ...plugin, migrations } : plugin;
};

export const startForum = async ({ extra = [], ...options }: TestAppOptions & { extra?: readonly Plugin[] } = {}): Promise<TestApp> => startApp({
  ...options,
  settings: { 'security.bcrypt_cost': 4, 'email.mx_validation': false, 'registration.rate_limit': 100_000, ...options.settings },
  plugins: [...(await Promise.all([access, limits, accounts].map(withMigrations))), surfaces, ...extra],
});
