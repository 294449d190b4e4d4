import { closestMatch } from 'leven';

/**
 * Makes `instanceof` recognise an error class by a mark instead of by identity: a plugin may bundle its own copy of
 * this program, whose errors mean the same.
 */
function markErrors(constructor: abstract new (...args: never[]) => Error, name: string): void {
  const mark = Symbol.for(`parley-forum.${name}`);
  Object.defineProperty(constructor.prototype, mark, { value: true });
  Object.defineProperty(constructor, Symbol.hasInstance, {
    value: (value: unknown) => typeof value === 'object' && value !== null && mark in value,
  });
}

/** A fault in a plugin or in how plugins are combined. The message names the plugin and says how to fix it. */
export class PluginError extends Error {
  override readonly name = 'PluginError';
  readonly plugin: string;

  constructor(plugin: string, message: string, options?: ErrorOptions) {
    super(`[${plugin}] ${message}`, options);
    this.plugin = plugin;
  }
}

/** A fault in the operator's configuration: printed as one line, without a stack trace. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

/** A problem with one field of the input. */
export interface FieldProblem {
  /** The field's path, such as `title` or `options.0.label`. */
  readonly field: string;
  /** Continues a sentence that starts with the field’s name: `must have 1 to 80 characters`. */
  readonly message: string;
}

export interface HttpErrorOptions extends ErrorOptions {
  /** A stable, machine-readable code such as `validation_failed`. Derived from the status by default. */
  readonly code?: string;
  readonly details?: readonly FieldProblem[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Shown instead of the message to those who run the site. */
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

/** An error whose status, message and details may be shown to the client. */
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

/** Maximum number of problems that are reported, to bound the size of the response. */
export const MOST_PROBLEMS = 100;

/** A 400 that names each invalid field. */
export class InvalidInput extends HttpError {
  override readonly name = 'InvalidInput';

  constructor(
    details: readonly FieldProblem[],
    message = details
      .slice(0, MOST_PROBLEMS)
      .map((problem) => `${problem.field}: ${problem.message}`)
      .join('; '),
  ) {
    super(400, message, { details: details.slice(0, MOST_PROBLEMS) });
  }
}

markErrors(PluginError, 'PluginError');
markErrors(ConfigurationError, 'ConfigurationError');
markErrors(HttpError, 'HttpError');
markErrors(InvalidInput, 'InvalidInput');

/** A 404, also used for things that the caller may not see. */
export const notFound = (what = 'Not found'): HttpError => new HttpError(404, what);

/** The message of a thrown value, for logs: an error's message, or anything else as a string. */
export const messageOf = (thrown: unknown): string => {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    // An object without a prototype, or one whose getter throws.
    return 'a value that cannot be printed was thrown';
  }
};

const MAX_CAUSES = 8;

/** The thrown value followed by its causes, outermost first. Errors may be each other's cause, so cycles are cut. */
export function causesOf(thrown: unknown): readonly unknown[] {
  const found = new Set<unknown>();
  let at = thrown;
  while (at !== undefined && found.size < MAX_CAUSES && !found.has(at)) {
    found.add(at);
    at = at instanceof Error ? at.cause : undefined;
  }
  return [...found];
}

/** Ends a sentence about an unknown name: suggests the closest known name, or returns `otherwise`. */
export function didYouMean(name: string, known: readonly string[], otherwise: string): string {
  const meant = closestMatch(name, known, { maxDistance: Math.max(1, Math.floor(name.length / 3)) });
  return meant === undefined ? otherwise : `did you mean "${meant}"?`;
}

/** The messages of these errors without duplicates: an error often repeats its cause's message in its own. */
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
 * An error and its causes as one line, outermost first. Pass `plugin` where the line is shown next to the plugin's id,
 * which is then left out.
 */
export function chainOf(error: unknown, plugin?: string): string {
  const line = messagesOf(causesOf(error)).join(' ← ');
  return plugin === undefined ? line : line.replaceAll(`[${plugin}] `, '');
}
