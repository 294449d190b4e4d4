/**
 * A ref is a small frozen value that stands for something typed: a service, a hook, an extension
 * point, a surface. Importing a ref is how one plugin names what belongs to another.
 */
declare const type: unique symbol;

/** What plugin code may return: the kernel awaits it. */
export type Awaitable<T> = T | Promise<T>;

export interface Ref<Kind extends string, T> {
  readonly kind: Kind;
  /** Unique per kind. */
  readonly id: string;
  readonly [type]?: (value: T) => T;
}

export type TypeOf<R> = R extends Ref<string, infer T> ? T : never;

const ID = /^[A-Za-z][A-Za-z0-9._-]*$/;

/** Used by the `define…` functions only. Throws `TypeError` for an id that could not be logged or addressed safely. */
export function createRef<Kind extends string, T>(kind: Kind, id: string): Ref<Kind, T> {
  if (!ID.test(id))
    throw new TypeError(`Invalid ${kind} id "${id}": use letters, digits, ".", "_" and "-", beginning with a letter`);
  return Object.freeze({ kind, id });
}

export interface Token<T> extends Ref<'service', T> {}
export interface ExtensionPoint<T> extends Ref<'extension point', T> {
  /** One sentence: what is added, and what becomes of it. */
  readonly description: string;
  /** One sentence: what it changes to stand before others in the list; undefined where that changes nothing. */
  readonly order: string | undefined;
}

/** Names a service that one plugin (or the kernel) provides and others may need. */
export const defineToken = <T>(id: string): Token<T> => createRef('service', id);

/**
 * Names a list that any plugin may add to and that its owner reads; the owner is the plugin that lists it under
 * `extensionPoints`. `description` and `order` are sentences for authors, as docs/reference shows them.
 */
export const defineExtensionPoint = <T>(
  id: string,
  description: string,
  { order }: { readonly order?: string } = {},
): ExtensionPoint<T> =>
  Object.freeze({ ...createRef<'extension point', T>('extension point', id), description, order });

// `any` because a record mixes tokens of unrelated types; each is recovered by `Services`.
export type Tokens = Readonly<Record<string, Token<any>>>;
export type Services<T extends Tokens> = { readonly [K in keyof T]: TypeOf<T[K]> };
