import type { DatabaseReport } from 'parley-forum';

/** The result of testing a database or Redis connection, worded for the person who typed the URL. */
export interface TestResult {
  readonly good: boolean;
  readonly text: string;
}

/** Looks up a text by key, in the site's language. */
export type Text = (key: string, values?: Readonly<Record<string, unknown>>) => string;

export interface ConnectionTestsDeps {
  readonly text: Text;
  inspect(databaseUrl: string): Promise<DatabaseReport>;
  redis(url: string): Promise<void>;
  /** Milliseconds to wait for a reply. Default 5,000. */
  readonly timeout?: number;
}

/** By SQLSTATE, Node.js or resolver error code. */
const REASONS: Readonly<Record<string, string>> = {
  '28P01': 'credentials',
  '28000': 'credentials',
  '3D000': 'database',
  ECONNREFUSED: 'refused',
  ENOTFOUND: 'host',
  EAI_AGAIN: 'host',
  ETIMEDOUT: 'silent',
};

/** For errors without a code: messages of Redis and the drivers. */
const MESSAGE_PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/WRONGPASS|NOAUTH|invalid password/i, 'credentials'],
  [/time(d )?out/i, 'silent'],
];
/**
 * Errors raised by PostgreSQL itself carry such a code. Other messages are not shown: they would reveal what runs
 * there.
 */
const SQLSTATE = /^[0-9A-Z]{5}$/;
/** The oldest supported version of PostgreSQL. */
const MIN_POSTGRES_VERSION = 15;

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** Tests URLs before they are used. Never throws. */
export class ConnectionTests {
  readonly #options: ConnectionTestsDeps;

  constructor(options: ConnectionTestsDeps) {
    this.#options = options;
  }

  database(url: string): Promise<TestResult> {
    const { text, inspect } = this.#options;
    return this.#try(url, ['postgres:', 'postgresql:'], async () => {
      const { version, missing, writable, installed } = await inspect(url);
      if (installed) return { good: false, text: text('probe.installed') };
      if (Number.parseInt(version, 10) < MIN_POSTGRES_VERSION)
        return { good: false, text: text('probe.old', { version, oldest: String(MIN_POSTGRES_VERSION) }) };
      if (missing.length > 0) return { good: false, text: text('probe.extensions', { names: missing.join(', ') }) };
      if (!writable) return { good: false, text: text('probe.read-only') };
      return { good: true, text: text('probe.postgres', { version }) };
    });
  }

  redis(url: string): Promise<TestResult> {
    const { text, redis } = this.#options;
    return this.#try(url, ['redis:', 'rediss:'], async () => {
      await redis(url);
      return { good: true, text: text('probe.redis') };
    });
  }

  async #try(url: string, protocols: readonly string[], test: () => Promise<TestResult>): Promise<TestResult> {
    const { text, timeout = 5_000 } = this.#options;
    if (!URL.canParse(url) || !protocols.includes(new URL(url).protocol))
      return { good: false, text: text('probe.address', { protocol: protocols[0] }) };
    const { host, pathname } = new URL(url);
    const values = { host, name: decoded(pathname.slice(1)) };
    const late = Promise.withResolvers<TestResult>();
    const timer = setTimeout(() => late.resolve({ good: false, text: text('probe.silent', values) }), timeout);
    try {
      return await Promise.race([test(), late.promise]);
    } catch (error) {
      return { good: false, text: this.#reason(error, values) };
    } finally {
      clearTimeout(timer);
    }
  }

  #reason(error: unknown, values: { readonly host: string; readonly name: string }): string {
    // If a name has several addresses, there is one error for each.
    const first = (error instanceof AggregateError ? (error.errors as readonly unknown[])[0] : error) as
      | { code?: unknown; message?: unknown }
      | undefined;
    const message = String(first?.message ?? error);
    const code = String(first?.code ?? '');
    const known =
      REASONS[code] ??
      MESSAGE_PATTERNS.find(([pattern]) => pattern.test(message))?.[1] ??
      (SQLSTATE.test(code) ? 'other' : 'strange');
    return this.#options.text(`probe.${known}`, known === 'other' ? { ...values, message } : values);
  }
}
