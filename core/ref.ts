/**
 * A ref is a small frozen value that stands for something typed: a service, a hook, an extension
 * point, a surface. Importing a ref is how one plugin names what belongs to another.
 */
declare const type: unique symbol;

/** The return type of plugin callbacks, which the kernel awaits. */
export type Awaitable<T> = T | Promise<T>;

/** Wraps a thenable that is not a promise, such as a query builder, in a promise; returns anything else unchanged. */
export const asPromise = <T>(result: Awaitable<T> | PromiseLike<T>): Awaitable<T> =>
  result instanceof Promise || typeof (result as Partial<PromiseLike<T>> | null | undefined)?.then !== 'function'
    ? (result as Awaitable<T>)
    : Promise.resolve(result);

export interface Ref<Kind extends string, T> {
  readonly kind: Kind;
  /** Unique within its kind. */
  readonly id: string;
  /** If deprecated, what to use instead. Plugins that still use the ref are named in the log, once each. */
  readonly deprecated?: string | undefined;
  readonly [type]?: (value: T) => T;
}

type TypeOf<R> = R extends Ref<string, infer T> ? T : never;

/** Options common to all `define…` functions. */
export interface RefOptions {
  /**
   * Marks the ref as deprecated and says what to use instead. Add `@deprecated` to its doc comment as well, for
   * editors.
   */
  readonly deprecated?: string;
}

const ID = /^[A-Za-z][A-Za-z0-9._-]*$/;

/** Internal to the `define…` functions. Throws `TypeError` for an id that could not be logged or addressed safely. */
export function createRef<Kind extends string, T>(
  kind: Kind,
  id: string,
  { deprecated }: RefOptions = {},
): Ref<Kind, T> {
  if (!ID.test(id))
    throw new TypeError(`Invalid ${kind} id "${id}": use letters, digits, ".", "_" and "-", beginning with a letter`);
  return Object.freeze({ kind, id, ...(deprecated !== undefined && { deprecated }) });
}

/** Identifies a service: one plugin provides it, others request it under `needs` or `wants`. */
export interface Token<T> extends Ref<'service', T> {}
/** A list that one plugin reads and any plugin can add to with `plugin.extend`. */
export interface ExtensionPoint<T> extends Ref<'extension point', T> {
  /** One sentence: what plugins add, and what happens with it. */
  readonly description: string;
  /** One sentence: what coming earlier in the list changes; undefined if the order does not matter. */
  readonly order: string | undefined;
  /** Returns the ref that a value relates to, such as the slot that it fills, if values relate to one. */
  readonly about: ((value: T) => Ref<string, any>) | undefined;
}

/** Defines the token of a service that one plugin (or the kernel) provides and others may request. */
export const defineToken = <T>(id: string, options?: RefOptions): Token<T> => createRef('service', id, options);

export interface ExtensionPointOptions<T> extends RefOptions {
  readonly order?: string;
  readonly about?: (value: T) => Ref<string, any>;
}

/**
 * Defines a list that any plugin can add to and that its owner reads; the owner is the plugin that lists it under
 * `extensionPoints`. `description` and `order` are sentences for plugin authors, shown in docs/reference.
 */
export const defineExtensionPoint = <T>(
  id: string,
  description: string,
  { order, about, ...options }: ExtensionPointOptions<T> = {},
): ExtensionPoint<T> =>
  Object.freeze({ ...createRef<'extension point', T>('extension point', id, options), description, order, about });

// `any` because a record mixes tokens of unrelated types; `Services` restores each one.
export type Tokens = Readonly<Record<string, Token<any>>>;
export type Services<T extends Tokens> = { readonly [K in keyof T]: TypeOf<T[K]> };
