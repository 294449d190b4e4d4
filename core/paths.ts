/** What a path pattern is made of: `/books/:id`, and `*rest` at the end for everything below. */
interface Node<T> {
  readonly literals: Map<string, Node<T>>;
  param: Node<T> | undefined;
  rest: Node<T> | undefined;
  /** Names of the parameters on the way here, in order. */
  names: readonly string[];
  readonly methods: Map<string, T>;
}

export interface Match<T> {
  readonly value: T | undefined;
  readonly params: Readonly<Record<string, string>>;
  /** The methods this path answers, upper case; empty when nothing matched. */
  readonly allowed: readonly string[];
}

const node = <T>(): Node<T> => ({ literals: new Map(), param: undefined, rest: undefined, names: [], methods: new Map() });

/**
 * Finds a route by method and path in time that depends on the path's length, not on the number of routes. A literal
 * segment wins over a parameter whatever the order of registration, as `/users/search` must over `/users/:id`.
 */
export class Paths<T> {
  readonly #root: Node<T> = node();

  /** False when method and pattern are taken. */
  add(method: string, pattern: string, value: T): boolean {
    let at = this.#root;
    const names: string[] = [];
    for (const part of segments(pattern)) {
      if (part.startsWith(':') || part.startsWith('*')) {
        names.push(part.slice(1));
        at = part.startsWith(':') ? (at.param ??= node()) : (at.rest ??= node());
      } else {
        let next = at.literals.get(part);
        if (!next) at.literals.set(part, (next = node()));
        at = next;
      }
    }
    if (at.methods.has(method)) return false;
    at.names = names;
    at.methods.set(method, value);
    return true;
  }

  find(method: string, path: string): Match<T> {
    const values: string[] = [];
    const found = this.#walk(this.#root, segments(path), 0, values);
    if (!found) return { value: undefined, params: {}, allowed: [] };
    const params = Object.fromEntries(found.names.map((name, index) => [name, values[index] ?? '']));
    return { value: found.methods.get(method), params, allowed: [...found.methods.keys()] };
  }

  #walk(at: Node<T>, parts: readonly string[], index: number, values: string[]): Node<T> | undefined {
    const part = parts[index];
    if (part === undefined) return at.methods.size > 0 ? at : undefined;
    const literal = at.literals.get(part);
    const exact = literal && this.#walk(literal, parts, index + 1, values);
    if (exact) return exact;
    const depth = values.length;
    if (at.param) {
      values.push(decoded(part));
      const found = this.#walk(at.param, parts, index + 1, values);
      if (found) return found;
      values.length = depth;
    }
    if (!at.rest) return undefined;
    values.push(parts.slice(index).map(decoded).join('/'));
    return at.rest;
  }
}

const segments = (path: string): string[] => path.split('/').filter((part) => part !== '');

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
