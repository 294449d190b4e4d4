import type { DatabaseReport } from 'parley-forum';

/** What a look at a database or a Redis found, in words for whoever typed its address. */
export interface Finding {
  readonly good: boolean;
  readonly text: string;
}

/** Texts by key, in the site's language. */
export type Text = (key: string, values?: Readonly<Record<string, unknown>>) => string;

export interface ProbeOptions {
  readonly text: Text;
  inspect(databaseUrl: string): Promise<DatabaseReport>;
  redis(url: string): Promise<void>;
  /** Milliseconds that somebody waits for an answer. Default 5,000. */
  readonly patience?: number;
}

/** By code of PostgreSQL, of Node and of its resolver. */
const REASONS: Readonly<Record<string, string>> = {
  '28P01': 'credentials',
  '28000': 'credentials',
  '3D000': 'database',
  ECONNREFUSED: 'refused',
  ENOTFOUND: 'host',
  EAI_AGAIN: 'host',
  ETIMEDOUT: 'silent',
};

/** Where there is no code: what Redis and the drivers say. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/WRONGPASS|NOAUTH|invalid password/i, 'credentials'],
  [/time(d )?out/i, 'silent'],
];
/**
 * What PostgreSQL itself says carries such a code. What anything else says is not passed on: it tells what runs there.
 */
const SQLSTATE = /^[0-9A-Z]{5}$/;
/** The first version of PostgreSQL that will do. */
const OLDEST = 15;

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** Tries addresses before anything depends on them. Never throws. */
export class Probes {
  readonly #options: ProbeOptions;

  constructor(options: ProbeOptions) {
    this.#options = options;
  }

  database(url: string): Promise<Finding> {
    const { text, inspect } = this.#options;
    return this.#try(url, ['postgres:', 'postgresql:'], async () => {
      const { version, missing, writable, installed } = await inspect(url);
      if (installed) return { good: false, text: text('probe.installed') };
      if (Number.parseInt(version, 10) < OLDEST)
        return { good: false, text: text('probe.old', { version, oldest: String(OLDEST) }) };
      if (missing.length > 0) return { good: false, text: text('probe.extensions', { names: missing.join(', ') }) };
      if (!writable) return { good: false, text: text('probe.read-only') };
      return { good: true, text: text('probe.postgres', { version }) };
    });
  }

  redis(url: string): Promise<Finding> {
    const { text, redis } = this.#options;
    return this.#try(url, ['redis:', 'rediss:'], async () => {
      await redis(url);
      return { good: true, text: text('probe.redis') };
    });
  }

  async #try(url: string, protocols: readonly string[], look: () => Promise<Finding>): Promise<Finding> {
    const { text, patience = 5_000 } = this.#options;
    if (!URL.canParse(url) || !protocols.includes(new URL(url).protocol))
      return { good: false, text: text('probe.address', { protocol: protocols[0] }) };
    const { host, pathname } = new URL(url);
    const values = { host, name: decoded(pathname.slice(1)) };
    const late = Promise.withResolvers<Finding>();
    const timer = setTimeout(() => late.resolve({ good: false, text: text('probe.silent', values) }), patience);
    try {
      return await Promise.race([look(), late.promise]);
    } catch (error) {
      return { good: false, text: this.#reason(error, values) };
    } finally {
      clearTimeout(timer);
    }
  }

  #reason(error: unknown, values: { readonly host: string; readonly name: string }): string {
    // Where a name has several addresses, each says why it did not answer.
    const first = (error instanceof AggregateError ? (error.errors as readonly unknown[])[0] : error) as
      | { code?: unknown; message?: unknown }
      | undefined;
    const message = String(first?.message ?? error);
    const code = String(first?.code ?? '');
    const known =
      REASONS[code] ??
      WORDS.find(([pattern]) => pattern.test(message))?.[1] ??
      (SQLSTATE.test(code) ? 'other' : 'strange');
    return this.#options.text(`probe.${known}`, known === 'other' ? { ...values, message } : values);
  }
}
