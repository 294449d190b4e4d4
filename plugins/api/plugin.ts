import {
  Cache,
  Clock,
  Data,
  definePlugin,
  Environment,
  Http,
  pluginChanged,
  Routes,
  Settings,
  Type,
} from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Csrf, Sessions } from 'parley-forum/plugins/accounts';
import { api, ApiRefusals, errorTranslators, responsesTag } from 'parley-forum/plugins/api';
import { Limits } from 'parley-forum/plugins/limits';
import { LAST, personalData } from 'parley-forum/ports/personal-data';
import { Protection } from 'parley-forum/plugins/protection';
import { printOpenApi } from './commands.ts';
import { addDocs } from './docs/docs-routes.ts';
import { answersData } from './personal-data.ts';
import { RateLimits } from './rate-limits.ts';
import { Idempotency } from './idempotency.ts';
import { ApiSurface } from './surface.ts';

export default definePlugin({
  id: 'api',
  name: 'API',
  version: '2.0.0',
  description: 'The JSON API under /api, its documentation and its rate limits.',
  needs: {
    access: Access,
    sessions: Sessions,
    csrf: Csrf,
    limits: Limits,
    protection: Protection,
    data: Data,
    cache: Cache,
    clock: Clock,
    http: Http,
    routes: Routes,
    settings: Settings,
    environment: Environment,
  },
  provides: { refusals: ApiRefusals },
  extensionPoints: [errorTranslators],
  settings: Type.Object({
    'api.rate_limit_user': Type.Integer({
      default: 120,
      minimum: 1,
      'x-danger': true,
      title: 'Requests per minute and member',
      'x-group': 'api',
    }),
    'api.rate_limit_ip': Type.Integer({
      default: 60,
      minimum: 1,
      'x-danger': true,
      title: 'Requests per minute and address',
      description: 'For guests; IPv6 is counted per /64.',
      'x-group': 'api',
    }),
    'api.page_size': Type.Integer({
      default: 20,
      minimum: 1,
      maximum: 100,
      title: 'Items on a page',
      description: 'Used when a request does not set a limit.',
      'x-group': 'api',
    }),
    'api.cors_origins': Type.Array(
      Type.String({
        pattern: '^https?://[^/ ]+$',
        'x-pattern-problem': 'must be an origin such as https://app.example, without a path',
        maxLength: 255,
      }),
      {
        default: [],
        title: 'Allowed origins',
        'x-group': 'api',
        'x-danger': true,
        description: 'Origins whose pages may call the API with a bearer token, such as https://app.example.',
      },
    ),
  }),

  commands: [printOpenApi],

  setup(
    { access, sessions, csrf, limits, protection, data, cache, clock, http, routes, settings, environment },
    plugin,
  ) {
    const rateLimits = new RateLimits({ limits, http, settings });
    const idempotency = new Idempotency(data, clock);
    plugin.job('clean-answers', {
      schema: Type.Object({}),
      cron: '41 3 * * *',
      run: () => idempotency.deleteExpired(),
    });
    plugin.extend(personalData, answersData(data), LAST);
    const surface = new ApiSurface({
      access,
      sessions,
      csrf,
      rateLimits,
      idempotency,
      cache,
      clock,
      http,
      routes,
      settings,
      environment,
      protection,
      log: plugin.log,
      errorTranslators: () => plugin.extensions(errorTranslators).map(({ value }) => value),
    });
    plugin.surface(api, surface);

    plugin.route(api, {
      method: 'get',
      path: '/version',
      summary: 'The version of the service',
      can: 'public',
      result: Type.Object({ version: Type.String() }),
      cacheTags: () => ['api.version'],
    })(() => ({ version: environment.version }));

    const documents = addDocs(plugin, { routes, settings, environment, protection });
    plugin.on(pluginChanged, () => {
      documents.forget();
      // When a plugin stops, its cached responses must go, and so must the URLs that led to them.
      cache.drop(responsesTag);
    });
    // Responses depend on settings such as the page size.
    plugin.onSettings(() => cache.purge(responsesTag));
    return { refusals: { refuse: (req, res, failure) => surface.fail({ req, res, route: undefined }, failure) } };
  },
});
