/** The kernel's public API: the only module that plugins and themes may import from it. */
export {
  definePlugin,
  type Backfill,
  type Job,
  type JobDelivery,
  type Plugin,
  type PluginHandle,
} from './plugins/definition.ts';
export { defineToken, defineExtensionPoint, type Awaitable, type ExtensionPoint, type Token } from './ref.ts';
export { defineAction, defineFilter, defineQuery, Hooks, type Action, type Filter, type Query } from './hooks.ts';
export { commandLine, defineCommand, operated, secretOption, type Command, type Console } from './cli/command.ts';
export { develop } from './cli/develop.ts';
export { writeTemplate } from './cli/scaffold.ts';
export { Setup, type OpenSetup, type DatabaseReport, type DataLocation, type Site } from './host/setup.ts';
export { RUN, type SiteConfiguration } from './host/site.ts';
export type { Extension } from './extensions.ts';
export { createId, firstIdAt, timeOf, ZERO_ID } from './ids.ts';
export {
  Accepted,
  type AnonymousContext,
  Authorizer,
  definePermission,
  defineSurface,
  Routes,
  runMiddleware,
  type CheckedUrl,
  type Exchange,
  type RequestContext,
  type OpenPermission,
  type Permission,
  type Request,
  type RequestHandler,
  type Response,
  type RouteInfo,
  type Surface,
  type SurfaceBehaviour,
} from './http/routes.ts';
export {
  check,
  isMoment,
  isStorable,
  isUnseen,
  parse,
  Type,
  withoutDirections,
  type Checked,
  type Static,
  type TObject,
  type TSchema,
} from './schema.ts';
export {
  chainOf,
  ConfigurationError,
  didYouMean,
  HttpError,
  InvalidInput,
  messageOf,
  notFound,
  type FieldProblem,
} from './errors.ts';
export { counterKeys, counters, type Counter } from './data/counters.ts';
export { Data, defineEntity, Migration, p, sql, type EntityManager, type RawBuilder } from './data/database.ts';
export { Batcher } from './data/batcher.ts';
export { exclusively } from './data/exclusively.ts';
export { makeCacheFolder } from './host/backup/cache-folder.ts';
export { Cache, type CacheOptions, type Redis } from './cache.ts';
export { Cluster } from './cluster.ts';
export { Settings, type SettingInfo } from './settings.ts';
export { Plugins, type PluginInfo } from './plugins/desired-state.ts';
export { filesChanged, pluginChanged } from './plugins/actions.ts';
export { fileChecks, type FileCheck } from './plugins/file-checks.ts';
export { sealedStores, Secrets, type SealedStore } from './secrets.ts';
export { failureOf } from './http/failures.ts';
export { BodyTemplate } from './http/body-template.ts';
export { acceptsEncoding, etagOf, isFresh } from './http/freshness.ts';
export { ReusableBody } from './http/reusable-body.ts';
export { Http } from './http/http.ts';
export { Jobs } from './jobs/queue.ts';
export { Clock, Environment } from './environment.ts';
export type { Logger } from './logger.ts';
