import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { ConfigurationError, didYouMean, messageOf } from '../core/errors.ts';
import type { Environment } from '../core/environment.ts';
import { SITE } from '../core/host/site.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/**
 * How many seconds a process drains in production: by then a proxy that probes every second, and acts on the first
 * failure, has noticed.
 */
const DRAIN = 2;
const LONGEST_DRAIN = 300;
/**
 * Defaults and maxima for the seconds a request may take and for the number of connections: enough for people, while a
 * slow sender cannot tie up a process.
 */
const [REQUEST, LONGEST_REQUEST] = [30, 3_600];
const [CONNECTIONS, MOST_CONNECTIONS] = [5_000, 1_000_000];

/**
 * Reads typed values from environment variables, falling back to DATA_DIR/config.json. All problems are reported at
 * once, each with what to write instead.
 */
export function readEnvironment(variables: Readonly<Record<string, string | undefined>>): Environment {
  const problems: string[] = [];
  const refuse = (name: string, value: string, wanted: string): undefined =>
    void problems.push(`${name}=${value} is not ${wanted}`);

  const text = (name: string): string | undefined => variables[name]?.trim() || undefined;
  const dataDir = resolve(text('DATA_DIR') ?? './data');
  const kept = readKept(join(dataDir, 'config.json'), problems);
  const number = (name: string, fallback: number, most: number, wanted: string): number => {
    const value = text(name);
    if (value === undefined) return fallback;
    const parsed = Number(value);
    return Number.isInteger(parsed) && parsed >= 0 && parsed <= most ? parsed : (refuse(name, value, wanted), fallback);
  };
  const flag = (name: string): boolean => {
    const value = text(name) ?? '0';
    if (!['0', '1'].includes(value)) refuse(name, value, '0 or 1');
    return value === '1';
  };
  const url = (name: string, protocols: readonly string[], example: string): string | undefined => {
    const value = text(name) ?? kept[name];
    if (value === undefined) return undefined;
    return URL.canParse(value) && protocols.includes(new URL(value).protocol)
      ? value
      : refuse(name, '…', `a URL such as ${example}`);
  };

  /** Must be a bare origin: it is prepended to the URLs of pages, and paths within pages start at its root. */
  const origin = (name: string, example: string): string | undefined => {
    const given = url(name, ['http:', 'https:'], example);
    if (given === undefined) return undefined;
    const { origin: own, href } = new URL(given);
    return href.replace(/\/+$/, '') === own
      ? own
      : refuse(name, '…', `a URL without credentials, a path or a query, such as ${example}`);
  };

  const list = (name: string): readonly string[] => (text(name) ?? kept[name] ?? '').split(/[\s,]+/).filter(Boolean);
  const each = (
    name: string,
    entries: readonly string[],
    right: (entry: string) => boolean,
    wanted: string,
  ): readonly string[] => {
    for (const entry of entries) if (!right(entry)) refuse(name, entry, wanted);
    return entries;
  };
  const hosts = (name: string): readonly string[] =>
    each(name, list(name), isHost, 'a host name or an address, such as intranet.example or 10.0.0.5');
  const choice = (name: string, choices: readonly string[]): void => {
    const value = text(name);
    if (value !== undefined && !choices.includes(value)) refuse(name, value, `one of ${choices.join(', ')}`);
  };
  // Read by the logger itself.
  choice('LOG_LEVEL', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']);
  choice('LOG_FORMAT', ['json', 'text']);

  const mailFrom = text('MAIL_FROM') ?? kept['MAIL_FROM'];
  if (mailFrom !== undefined && !/^[^\s@<>,;]+@[^\s@<>,;]+$/.test(mailFrom))
    refuse('MAIL_FROM', mailFrom, 'an address such as forum@example.org');
  const ports = list('WEBHOOKS_ALLOWED_PORTS');

  const port = number('PORT', 3000, 65_535, 'a port between 0 and 65535');
  const production = text('NODE_ENV') === 'production';
  const secretKey = text('SECRET_KEY');
  if (secretKey !== undefined && secretKey.length < 32)
    problems.push('SECRET_KEY is shorter than 32 characters; generate one with: openssl rand -hex 32');

  const environment: Environment = {
    host: text('HOST') ?? '127.0.0.1',
    port,
    baseUrl: origin('BASE_URL', 'https://forum.example.org') ?? `http://localhost:${port}`,
    siteDir: SITE,
    dataDir,
    databaseUrl: url('DATABASE_URL', ['postgres:', 'postgresql:'], 'postgres://user:password@host:5432/parley'),
    redisUrl: url('REDIS_URL', ['redis:', 'rediss:'], 'redis://host:6379'),
    secretKey,
    smtpUrl: url('SMTP_URL', ['smtp:', 'smtps:'], 'smtps://name:password@mail.example.org'),
    mailFrom,
    trustedProxies: each(
      'TRUSTED_PROXIES',
      list('TRUSTED_PROXIES'),
      isRange,
      'an address or a CIDR range, such as 127.0.0.1 or 10.0.0.0/8',
    ),
    allowedHosts: hosts('WEBHOOKS_ALLOWED_HOSTS'),
    previewHosts: hosts('LINK_PREVIEWS_ALLOWED_HOSTS'),
    identityProviderHosts: hosts('SSO_ALLOWED_HOSTS'),
    pushHosts: hosts('PUSH_ALLOWED_HOSTS'),
    allowedPorts:
      ports.length === 0 ? [80, 443] : each('WEBHOOKS_ALLOWED_PORTS', ports, isPort, 'a port such as 8443').map(Number),
    given: new Set(
      [...Object.keys(variables), ...Object.keys(kept)].filter((name) => (text(name) ?? kept[name]) !== undefined),
    ),
    safeMode: flag('SAFE_MODE'),
    logRequests: flag('LOG_REQUESTS'),
    serverTiming: flag('SERVER_TIMING'),
    production,
    development: false,
    drainSeconds: number(
      'DRAIN_SECONDS',
      production ? DRAIN : 0,
      LONGEST_DRAIN,
      `a number of seconds between 0 and ${LONGEST_DRAIN}`,
    ),
    requestSeconds: number(
      'REQUEST_SECONDS',
      REQUEST,
      LONGEST_REQUEST,
      `a number of seconds between 0 (no limit) and ${LONGEST_REQUEST}`,
    ),
    maxConnections: number(
      'MAX_CONNECTIONS',
      CONNECTIONS,
      MOST_CONNECTIONS,
      `a number between 0 (no limit) and ${MOST_CONNECTIONS}`,
    ),
    version,
  };
  if (problems.length > 0)
    throw new ConfigurationError(
      `The environment is invalid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    );
  return environment;
}

const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
/** Whether it is a host alone, without a scheme, a port, a path or a wildcard. */
const isHost = (text: string): boolean =>
  isIP(text.replace(/^\[(.*)\]$/, '$1')) !== 0 || (!/[/:@*?#]/.test(text) && URL.canParse(`http://${text}`));
const isRange = (text: string): boolean => {
  const [address = '', bits, more] = text.split('/');
  const most = isIP(address) === 4 ? 32 : 128;
  return (
    isIP(address) !== 0 &&
    more === undefined &&
    (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most))
  );
};

/** Variables that DATA_DIR/config.json may contain under the same name in lower case. */
const KEPT = [
  'DATABASE_URL',
  'REDIS_URL',
  'SMTP_URL',
  'MAIL_FROM',
  'TRUSTED_PROXIES',
  'WEBHOOKS_ALLOWED_HOSTS',
  'WEBHOOKS_ALLOWED_PORTS',
  'LINK_PREVIEWS_ALLOWED_HOSTS',
  'SSO_ALLOWED_HOSTS',
  'PUSH_ALLOWED_HOSTS',
] as const;

/** What the installer also stores in it. */
const OTHERS = ['installed_at'];

/**
 * Reads DATA_DIR/config.json, which holds values chosen in the browser during set-up or written by hand, by the name of
 * the variable that overrides each. Lists may be JSON arrays.
 */
function readKept(file: string, problems: string[]): Readonly<Record<string, string | undefined>> {
  try {
    const found = JSON.parse(readFileSync(file, 'utf8').trim() || '{}') as Readonly<Record<string, unknown>>;
    if (typeof found !== 'object' || found === null || Array.isArray(found)) throw new Error('it must be an object');
    const known = [...KEPT.map((name) => name.toLowerCase()), ...OTHERS];
    for (const key of Object.keys(found).filter((one) => !known.includes(one)))
      problems.push(
        `${file} has "${key}", which means nothing there; ${didYouMean(key, known, `it may have ${known.join(', ')}`)}`,
      );
    return Object.fromEntries(
      KEPT.map((name) => [name, found[name.toLowerCase()]])
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => [name, String(value)]),
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    problems.push(`${file} cannot be read: ${messageOf(error)}; correct it, or delete it and set the variables`);
    return {};
  }
}
