import FindMyWay, { type HTTPMethod, type HTTPVersion, type Instance } from 'find-my-way';

export interface Match<T> {
  readonly value: T | undefined;
  readonly params: Readonly<Record<string, string | undefined>>;
  /** The methods this path answers; looked up only when `value` is undefined. */
  readonly allowed: readonly string[];
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** `/books/:id`, and `*rest` at the end for everything below. */
const PATTERN = /^(?!.+\/$)(?:\/(?::\w+|[\w.~@-]+))*\/(?::\w+|\*\w+|[\w.~@-]*)$/;
/** Characters of a parameter at most: what Node reads of a request's head. Longer ones match nothing. */
const LONGEST = 16_384;

/** What a route answers; read once, while tables of routes are made anew for each plugin that comes or goes. */
export interface Address {
  readonly method: HTTPMethod;
  readonly pattern: string;
  /** The same for patterns that differ only in the names of their parameters. */
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
 * One surface's routes. A literal segment wins over a parameter whatever the order of registration, as `/users/search`
 * must over `/users/:id`.
 */
export class PathMatcher<T> {
  /** By the keys of their addresses. */
  readonly #routes = new Map<string, { readonly address: Address; readonly value: T }>();
  #router: Instance<HTTPVersion.V1> | undefined;

  /** What is wrong with the address, if anything; it then does not count. Not to be called after `find`. */
  add(address: Address, value: T): string | undefined {
    if (!address.valid) return 'is no path; use words, :names and a closing *rest between single slashes';
    if (this.#routes.has(address.key)) return 'is taken; choose another path';
    this.#routes.set(address.key, { address, value });
    return undefined;
  }

  find(method: string, path: string): Match<T> {
    // Compiled at the first request: while plugins start, each of them replaces the table.
    this.#router ??= this.#compile();
    // A path that some route spells out is never a parameter's value, whatever the method.
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
