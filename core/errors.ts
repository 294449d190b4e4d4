import { closestMatch } from 'leven';

/**
 * A class of errors that `instanceof` recognises by a mark instead of by the class: a plugin may bring a copy of this
 * program along, whose errors mean the same.
 */
function markErrors(constructor: abstract new (...args: never[]) => Error, name: string): void {
  const mark = Symbol.for(`parley-forum.${name}`);
  Object.defineProperty(constructor.prototype, mark, { value: true });
  Object.defineProperty(constructor, Symbol.hasInstance, {
    value: (value: unknown) => typeof value === 'object' && value !== null && mark in value,
  });
}

/** A fault of a plugin or of how plugins are put together. The message names the plugin and what to do. */
export class PluginError extends Error {
  override readonly name = 'PluginError';
  readonly plugin: string;

  constructor(plugin: string, message: string, options?: ErrorOptions) {
    super(`[${plugin}] ${message}`, options);
    this.plugin = plugin;
  }
}

/** A fault of the operator's configuration: shown as one line, without a stack. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

/** What is wrong with one field of what was sent. */
export interface FieldProblem {
  /** Its path: `title`, `options.0.label`. */
  readonly field: string;
  /** Goes on from the field’s name: `must have 1 to 80 characters`. */
  readonly message: string;
}

export interface HttpErrorOptions extends ErrorOptions {
  /** A stable word for programs, such as `validation_failed`. Default: by status. */
  readonly code?: string;
  readonly details?: readonly FieldProblem[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Said in place of the message to those who run the site. */
  readonly operators?: string;
}

const CODES: Readonly<Record<number, string>> = {
  400: 'validation_failed',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  413: 'too_large',
  415: 'unsupported_media_type',
  429: 'rate_limited',
  500: 'internal_error',
  503: 'unavailable',
};

/** An error whose status, message and details may be shown to whoever made the request. */
export class HttpError extends Error {
  override readonly name: string = 'HttpError';
  readonly status: number;
  readonly code: string;
  readonly details: readonly FieldProblem[];
  readonly headers: Readonly<Record<string, string>>;
  readonly operators: string | undefined;

  constructor(
    status: number,
    message: string,
    { code, details = [], headers = {}, operators, ...options }: HttpErrorOptions = {},
  ) {
    super(message, options);
    this.status = status;
    this.code = code ?? CODES[status] ?? 'error';
    this.details = details;
    this.headers = headers;
    this.operators = operators;
  }
}

/** 400 naming each field that is wrong. */
export class InvalidInput extends HttpError {
  override readonly name = 'InvalidInput';

  constructor(
    details: readonly FieldProblem[],
    message = details.map((problem) => `${problem.field}: ${problem.message}`).join('; '),
  ) {
    super(400, message, { details });
  }
}

markErrors(PluginError, 'PluginError');
markErrors(ConfigurationError, 'ConfigurationError');
markErrors(HttpError, 'HttpError');
markErrors(InvalidInput, 'InvalidInput');

/** 404, also for what the caller may not see. */
export const notFound = (what = 'Not found'): HttpError => new HttpError(404, what);

/** What a thrown value says, for logs: errors keep their message, anything else is printed. */
export const messageOf = (thrown: unknown): string => {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    // An object without a prototype, or with a getter that throws.
    return 'something that cannot be printed was thrown';
  }
};

const MAX_CAUSES = 8;

/** What was thrown and the causes behind it, outermost first; errors may be each other's cause. */
export function causesOf(thrown: unknown): readonly unknown[] {
  const found = new Set<unknown>();
  let at = thrown;
  while (at !== undefined && found.size < MAX_CAUSES && !found.has(at)) {
    found.add(at);
    at = at instanceof Error ? at.cause : undefined;
  }
  return [...found];
}

/** The end of a sentence about a name that is not there: the nearest one that is, or `otherwise`. */
export function didYouMean(name: string, known: readonly string[], otherwise: string): string {
  const meant = closestMatch(name, known, { maxDistance: Math.max(1, Math.floor(name.length / 3)) });
  return meant === undefined ? otherwise : `did you mean "${meant}"?`;
}

/** What these say, each once: an error often repeats its cause in its own message. */
export function messagesOf(thrown: readonly unknown[]): readonly string[] {
  const messages: string[] = [];
  for (const one of thrown) {
    const message = messageOf(one);
    const bare = one instanceof PluginError ? message.replace(`[${one.plugin}] `, '') : message;
    if (!messages.some((before) => before.includes(bare))) messages.push(message);
  }
  return messages;
}

/**
 * An error and the causes behind it as one line, outermost first. `plugin`: the line stands where its id is said
 * anyway.
 */
export function chainOf(error: unknown, plugin?: string): string {
  const line = messagesOf(causesOf(error)).join(' ← ');
  return plugin === undefined ? line : line.replaceAll(`[${plugin}] `, '');
}
