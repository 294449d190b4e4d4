/**
 * A ref is a small frozen value that stands for something typed: a service, a hook, an extension
 * point, a surface. Importing a ref is how one plugin names what belongs to another.
 */
declare const type: unique symbol;

/** What plugin code may return: the kernel awaits it. */
export type Awaitable<T> = T | Promise<T>;

/** A promise of what is awaited without being one, such as a query builder; everything else as it is. */
export const asPromise = <T>(result: Awaitable<T> | PromiseLike<T>): Awaitable<T> =>
  result instanceof Promise || typeof (result as Partial<PromiseLike<T>> | null | undefined)?.then !== 'function'
    ? (result as Awaitable<T>)
    : Promise.resolve(result);

export interface Ref<Kind extends string, T> {
  readonly kind: Kind;
  /** Unique per kind. */
  readonly id: string;
  /** What to use instead, where it is about to leave; plugins that use it are named in the log, once each. */
  readonly deprecated?: string | undefined;
  readonly [type]?: (value: T) => T;
}

type TypeOf<R> = R extends Ref<string, infer T> ? T : never;

/** What every `define…` takes besides what makes its kind. */
export interface RefOptions {
  /** What to use instead: it is about to leave. Goes with `@deprecated` in the comment above, for editors. */
  readonly deprecated?: string;
}

const ID = /^[A-Za-z][A-Za-z0-9._-]*$/;

/** Used by the `define…` functions only. Throws `TypeError` for an id that could not be logged or addressed safely. */
export function createRef<Kind extends string, T>(
  kind: Kind,
  id: string,
  { deprecated }: RefOptions = {},
): Ref<Kind, T> {
  if (!ID.test(id))
    throw new TypeError(`Invalid ${kind} id "${id}": use letters, digits, ".", "_" and "-", beginning with a letter`);
  return Object.freeze({ kind, id, ...(deprecated !== undefined && { deprecated }) });
}

/** Stands for a service: a plugin provides it, others have it under `needs` or `wants`. */
export interface Token<T> extends Ref<'service', T> {}
/** A list that one plugin reads and any plugin adds to, with `plugin.extend`. */
export interface ExtensionPoint<T> extends Ref<'extension point', T> {
  /** One sentence: what is added, and what becomes of it. */
  readonly description: string;
  /** One sentence: what it changes to stand before others in the list; undefined where that changes nothing. */
  readonly order: string | undefined;
  /** The ref that a value is about, where it is about one, such as the slot that it fills. */
  readonly about: ((value: T) => Ref<string, any>) | undefined;
}

/** Names a service that one plugin (or the kernel) provides and others may need. */
export const defineToken = <T>(id: string, options?: RefOptions): Token<T> => createRef('service', id, options);

export interface ExtensionPointOptions<T> extends RefOptions {
  readonly order?: string;
  readonly about?: (value: T) => Ref<string, any>;
}

/**
 * Names a list that any plugin may add to and that its owner reads; the owner is the plugin that lists it under
 * `extensionPoints`. `description` and `order` are sentences for authors, as docs/reference shows them.
 */
export const defineExtensionPoint = <T>(
  id: string,
  description: string,
  { order, about, ...options }: ExtensionPointOptions<T> = {},
): ExtensionPoint<T> =>
  Object.freeze({ ...createRef<'extension point', T>('extension point', id, options), description, order, about });

// `any` because a record mixes tokens of unrelated types; each is recovered by `Services`.
export type Tokens = Readonly<Record<string, Token<any>>>;
export type Services<T extends Tokens> = { readonly [K in keyof T]: TypeOf<T[K]> };
