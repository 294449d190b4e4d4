import { isDeepStrictEqual } from 'node:util';
import { check, type FieldProblem, type Logger, type RouteInfo, type TSchema } from 'parley-forum';
import type { ApiOptions } from 'parley-forum/plugins/api';
import { errorStatuses } from './docs/openapi.ts';
import { ACCEPTED } from './responses.ts';

/**
 * Which fields of `given` are missing in `known`, which was made of it by leaving out what its schema does not name.
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

/** What an answer has that its schema does not say, or lacks. */
function problemsOf(given: object, schema: TSchema): readonly FieldProblem[] {
  const checked = check(schema, given);
  if (!checked.ok) return checked.problems;
  return isDeepStrictEqual(checked.value, given) ? [] : unknownFields(given, checked.value);
}

/**
 * For development and tests: a response that does not match the API's description is a bug of its plugin, and
 * logged.
 */
export class Conformance {
  readonly #log: Logger;
  /** Schemas by their JSON text: routes' schemas are recreated as plugins start and stop. */
  readonly #schemas = new Map<string, TSchema>();
  /** By route, its schema now and what it was before a plugin came or went: an answer may have been begun by then. */
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
    this.#log.error({ plugin, method, path, problems }, 'an answer differs from the description of its route');
  }
}
