import { isDeepStrictEqual } from 'node:util';
import { check, type FieldProblem, type Logger, type RouteInfo, type TSchema } from 'parley-forum';
import { errorStatuses } from './docs/openapi.ts';

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

/**
 * For development and tests: a response that does not match the API's description is a bug of its plugin, and
 * logged.
 */
export class Conformance {
  readonly #log: Logger;
  /** Schemas by their JSON text: routes' schemas are recreated as plugins start and stop. */
  readonly #schemas = new Map<string, TSchema>();

  constructor(log: Logger) {
    this.#log = log;
  }

  success(body: Buffer, route: RouteInfo): void {
    if (!route.result) return;
    const { success: _, ...given } = JSON.parse(body.toString()) as Record<string, unknown>;
    const checked = check(this.#schemaOf(route.result), given);
    if (!checked.ok) this.#report(route, checked.problems);
    else if (!isDeepStrictEqual(checked.value, given)) this.#report(route, unknownFields(given, checked.value));
  }

  failure(status: number, route: RouteInfo): void {
    if (!errorStatuses(route).includes(status))
      this.#report(route, [{ field: 'status', message: `${status} is not described` }]);
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
