import { isDeepStrictEqual } from 'node:util';
import { check, type FieldProblem, type Logger, type RouteInfo, type TSchema } from 'parley-forum';
import type { ApiOptions } from 'parley-forum/plugins/api';
import { errorStatuses } from './docs/openapi.ts';
import { ACCEPTED } from './responses.ts';

/**
 * The fields of `given` that are missing from `known`, a copy of it without the fields that its schema does not
 * describe.
 */
function unknownFields(given: unknown, known: unknown, at = ''): readonly FieldProblem[] {
  if (typeof given !== 'object' || given === null || typeof known !== 'object' || known === null) return [];
  return Object.entries(given).flatMap(([name, value]) => {
    const field = at ? `${at}.${name}` : name;
    return Object.hasOwn(known, name)
      ? unknownFields(value, (known as Record<string, unknown>)[name], field)
      : [{ field, message: 'is not described' }];
  });
}

/** Fields that a response has but its schema does not describe, and the other way round. */
function problemsOf(given: object, schema: TSchema): readonly FieldProblem[] {
  const checked = check(schema, given);
  if (!checked.ok) return checked.problems;
  return isDeepStrictEqual(checked.value, given) ? [] : unknownFields(given, checked.value);
}

/**
 * For development and tests: a response that does not match the API description is a bug in its plugin and is logged.
 */
export class Conformance {
  readonly #log: Logger;
  /** Schemas by their JSON text: the schemas of routes are recreated as plugins start and stop. */
  readonly #schemas = new Map<string, TSchema>();
  /**
   * By route, its current schema and the one from before a plugin started or stopped: a response may have been started
   * under the old one.
   */
  readonly #described = new Map<string, { readonly now: TSchema; readonly before?: TSchema | undefined }>();

  constructor(log: Logger) {
    this.#log = log;
  }

  success(body: Buffer, route: RouteInfo<ApiOptions>, status: number): void {
    const accepted = status === ACCEPTED ? route.options.accepted : undefined;
    const result = accepted ?? route.result;
    if (!result) return;
    const { success: _, ...given } = JSON.parse(body.toString()) as Record<string, unknown>;
    const { now, before } = accepted ? { now: accepted } : this.#descriptionOf(route, result);
    const problems = problemsOf(given, now);
    if (problems.length === 0 || (before && problemsOf(given, before).length === 0)) return;
    this.#report(route, problems);
  }

  failure(status: number, route: RouteInfo): void {
    if (!errorStatuses(route).includes(status))
      this.#report(route, [{ field: 'status', message: `${status} is not described` }]);
  }

  #descriptionOf({ plugin, method, path }: RouteInfo, result: TSchema): { now: TSchema; before?: TSchema | undefined } {
    const key = `${plugin} ${method} ${path}`;
    const now = this.#schemaOf(result);
    const known = this.#described.get(key);
    if (known?.now === now) return known;
    const described = { now, before: known?.now };
    this.#described.set(key, described);
    return described;
  }

  #schemaOf(schema: TSchema): TSchema {
    const text = JSON.stringify(schema);
    const known = this.#schemas.get(text) ?? (JSON.parse(text) as TSchema);
    this.#schemas.set(text, known);
    return known;
  }

  #report({ plugin, method, path }: RouteInfo, problems: readonly FieldProblem[]): void {
    this.#log.error({ plugin, method, path, problems }, 'a response differs from the description of its route');
  }
}
