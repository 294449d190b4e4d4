import { PLATFORM } from './config/tools/checks/support/platform.ts';

/**
 * Who may import what, types included. `npm run check` runs it, and test/architecture.test.ts plants a breach of each
 * rule.
 */

/** Each wrapped library and the only files that know it, below core/ where nothing else is said. */
const WRAPPED = {
  tsyringe: ['plugins/container'],
  'reflect-metadata': ['plugins/container'],
  emittery: ['hooks'],
  'ajv|ajv-formats': ['schema'],
  'express|@types/express': ['http/routes', 'host/express-app'],
  commander: ['cli/parse'],
  'find-my-way': ['http/path-matcher'],
  '@mikro-orm/[^/]+|kysely': ['data/database', 'host/databases/[a-z-]+'],
  '@electric-sql/pglite': ['host/databases/embedded'],
  'pg|@types/pg': ['host/databases/postgres'],
  ioredis: ['cache', '../plugins/cache/redis'],
  'pino|pino-pretty': ['host/logger'],
  culori: ['../plugins/web/themes/colour'],
  htmlparser2: ['../plugins/web/templates/html-positions', '../plugins/link-previews/fetching/page-summary'],
};

const platform = PLATFORM.join('|');

const wrapped = Object.entries(WRAPPED)
  .map(([library, names]) => [library, names.map((name) => (name.startsWith('../') ? name.slice(3) : `core/${name}`))])
  .map(([library, files]) => ({
    name: `one-file-knows-${library.replace(/^@?([a-z-]+).*/, '$1')}`,
    comment: `Only ${files.join('.ts, ')}.ts may import this library; use what parley-forum offers of it.`,
    severity: 'error',
    from: {
      path: '^(core|plugins|themes|migrations|config)/',
      pathNot: [`^(${files.join('|')})[.]ts$`, '^config/tools/'],
    },
    to: { path: `(^|/)node_modules/(${library})/` },
  }));

export default {
  forbidden: [
    {
      name: 'kernel-knows-nobody',
      comment: 'The kernel imports no plugin, theme, configuration or test; take what is needed as an argument.',
      severity: 'error',
      from: { path: '^core/' },
      to: { path: '^(plugins|themes|config|migrations|test)/' },
    },
    {
      name: 'one-door-to-the-kernel',
      comment: 'Plugins and themes import parley-forum, never a file behind it.',
      severity: 'error',
      from: { path: '^(plugins|themes)/' },
      to: { path: '^core/', pathNot: '^core/index[.]ts$' },
    },
    {
      name: 'plugins-meet-in-api',
      comment:
        'Of another plugin only its api.ts may be imported, as parley-forum/plugins/<id>, and what several agree on, as parley-forum/ports/<name>.',
      severity: 'error',
      from: { path: '^plugins/([^/]+)/' },
      to: { path: '^plugins/([^/]+)/', pathNot: ['^plugins/$1/', '^plugins/[^/]+/api[.]ts$', '^plugins/ports/'] },
    },
    {
      name: 'ports-stand-below-plugins',
      comment: 'A port has no plugin beneath it: it takes types of plugins, and values of parley-forum only.',
      severity: 'error',
      from: { path: '^plugins/ports/' },
      to: { pathNot: ['^core/index[.]ts$', '^plugins/ports/'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'platform-stands-below-features',
      comment:
        'What every plugin builds on works without the others: what they hear of each other goes through plugins/ports/.',
      severity: 'error',
      from: { path: `^plugins/(${platform})/` },
      to: { path: '^plugins/', pathNot: `^plugins/(${platform}|ports)/`, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'plugins-stand-alone',
      comment: 'A plugin imports no theme, configuration, migration or test.',
      severity: 'error',
      from: { path: '^plugins/' },
      to: { path: '^(themes|config|migrations|test)/' },
    },
    {
      name: 'api-is-light',
      comment:
        'An api.ts imports only parley-forum, ports and other api.ts, so that naming a contract loads no implementation.',
      severity: 'error',
      from: { path: '^plugins/[^/]+/api[.]ts$' },
      to: { pathNot: ['^core/index[.]ts$', '^plugins/[^/]+/api[.]ts$', '^plugins/ports/'] },
    },
    {
      name: 'migrations-see-the-kernel-only',
      comment: 'A migration outlives the code around it: it imports parley-forum and nothing else.',
      severity: 'error',
      from: { path: '^migrations/' },
      to: { pathNot: '^core/index[.]ts$' },
    },
    {
      name: 'browser-code-stays-in-the-browser',
      comment: 'What runs in a browser imports no kernel, no built-in module of Node and no server code of its plugin.',
      severity: 'error',
      from: { path: '^(core/host/development/client|plugins/[^/]+/client|themes/[^/]+/assets)/' },
      to: { path: ['^core/(?!host/development/client/)', '^node:', '^plugins/[^/]+/(?!client/).+[.]ts$'] },
    },
    {
      name: 'no-tools-in-production',
      comment:
        'A package under devDependencies is not there in production; move it to dependencies, or import its types only.',
      severity: 'error',
      from: { path: '^(core|plugins|themes|migrations|config)/', pathNot: '^config/(tools/|vitest[.]ts$)' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'], pathNot: '/@types/' },
    },
    {
      name: 'only-listed-packages',
      comment: 'A package that only another package brought along may go away with it; add it to package.json.',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'no-cycles',
      comment: 'Two files that import each other are one file, or three.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    ...wrapped,
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^core/cli/templates/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
