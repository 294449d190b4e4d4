import { isDeepStrictEqual } from 'node:util';
import { check, type FieldProblem, type Logger, type RouteInfo, type TSchema } from 'parley-forum';
import { failuresOf } from './openapi.ts';

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
 * For development and tests: an answer that is not what the description of the API promises is a fault of the plugin
 * that gave it, and logged.
 */
export class Conformance {
  readonly #log: Logger;
  /** Schemas as they stand, by their text: parts of a route's own are made anew as plugins come and go. */
  readonly #schemas = new Map<string, TSchema>();

  constructor(log: Logger) {
    this.#log = log;
  }

  success(body: Buffer, route: RouteInfo): void {
    if (!route.result) return;
    const { success: _, ...given } = JSON.parse(body.toString()) as Record<string, unknown>;
    const checked = check(this.#standing(route.result), given);
    if (!checked.ok) this.#tell(route, checked.problems);
    else if (!isDeepStrictEqual(checked.value, given)) this.#tell(route, unknownFields(given, checked.value));
  }

  failure(status: number, route: RouteInfo): void {
    if (!failuresOf(route).includes(status))
      this.#tell(route, [{ field: 'status', message: `${status} is not described` }]);
  }

  #standing(schema: TSchema): TSchema {
    const text = JSON.stringify(schema);
    const known = this.#schemas.get(text) ?? (JSON.parse(text) as TSchema);
    this.#schemas.set(text, known);
    return known;
  }

  #tell({ plugin, method, path }: RouteInfo, problems: readonly FieldProblem[]): void {
    this.#log.error({ plugin, method, path, problems }, 'an answer differs from the description of its route');
  }
}
