import FindMyWay, { type HTTPMethod, type HTTPVersion, type Instance } from 'find-my-way';

export interface Match<T> {
  readonly value: T | undefined;
  readonly params: Readonly<Record<string, string | undefined>>;
  /** The methods that have a route for this path; computed only when `value` is undefined. */
  readonly allowed: readonly string[];
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** Such as `/books/:id`, with an optional `*rest` at the end that matches everything below. */
const PATTERN = /^(?!.+\/$)(?:\/(?::\w+|[\w.~@-]+))*\/(?::\w+|\*\w+|[\w.~@-]*)$/;
/** Maximum length of a parameter: Node's limit for the head of a request. Longer ones match nothing. */
const LONGEST = 16_384;

/** A route's method and path, parsed once, because the route tables are rebuilt whenever a plugin starts or stops. */
export interface Address {
  readonly method: HTTPMethod;
  readonly pattern: string;
  /** Equal for patterns that differ only in their parameter names. */
  readonly key: string;
  readonly valid: boolean;
}

export const readAddress = (method: string, pattern: string): Address => ({
  method: method.toUpperCase() as HTTPMethod,
  pattern,
  key: `${method.toUpperCase()} ${pattern.replaceAll(/(?<=[:*])\w+/g, '')}`,
  valid: PATTERN.test(pattern),
});

/**
 * The routes of one surface. Literal segments take precedence over parameters regardless of registration order:
 * `/users/search` must win over `/users/:id`.
 */
export class PathMatcher<T> {
  /** Keyed by `Address.key`. */
  readonly #routes = new Map<string, { readonly address: Address; readonly value: T }>();
  #router: Instance<HTTPVersion.V1> | undefined;

  /**
   * Adds a route. Returns the problem if the address is invalid or taken, in which case the route is ignored. Must not
   * be called after `find`.
   */
  add(address: Address, value: T): string | undefined {
    if (!address.valid) return 'is not a valid path; use words, :names and a final *rest between single slashes';
    if (this.#routes.has(address.key)) return 'is taken; choose another path';
    this.#routes.set(address.key, { address, value });
    return undefined;
  }

  find(method: string, path: string): Match<T> {
    // Compiled on the first request, because every plugin that starts replaces the table.
    this.#router ??= this.#compile();
    // If some route spells the path out literally, parameters never match it, whatever the method.
    const literal = METHODS.filter((other) => this.#routes.has(`${other} ${path}`));
    const found =
      literal.length === 0 || literal.includes(method) ? this.#router.find(method as HTTPMethod, path) : undefined;
    if (!found) {
      const allowed =
        literal.length > 0 ? literal : METHODS.filter((other) => this.#router?.find(other as HTTPMethod, path));
      return { value: undefined, params: {}, allowed };
    }
    const { value, rest } = found.store as { value: T; rest: string | undefined };
    const { '*': below, ...named } = found.params;
    return { value, params: rest ? { ...named, [rest]: below } : named, allowed: [] };
  }

  #compile(): Instance<HTTPVersion.V1> {
    const router = FindMyWay({ ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, maxParamLength: LONGEST });
    for (const { address, value } of this.#routes.values()) {
      const [path = '', rest] = address.pattern.split('*');
      router.on(address.method, rest ? `${path}*` : path, () => undefined, { value, rest });
    }
    return router;
  }
}
