import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ConfigurationError, messageOf } from '../core/errors.ts';
import type { Environment } from '../core/environment.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };

/**
 * Typed values from environment variables, and from DATA_DIR/config.json where those are unset. Every problem is reported at once, each
 * with what to write instead.
 */
export function readEnvironment(variables: Readonly<Record<string, string | undefined>>): Environment {
  const problems: string[] = [];
  const refuse = (name: string, value: string, wanted: string): undefined => void problems.push(`${name}=${value} is not ${wanted}`);

  const text = (name: string): string | undefined => variables[name]?.trim() || undefined;
  const dataDir = resolve(text('DATA_DIR') ?? './data');
  const kept = readKept(join(dataDir, 'config.json'), problems);
  const number = (name: string, fallback: number): number => {
    const value = text(name);
    if (value === undefined) return fallback;
    const parsed = Number(value);
    return Number.isInteger(parsed) && parsed >= 0 && parsed <= 65_535 ? parsed : (refuse(name, value, 'a port between 0 and 65535'), fallback);
  };
  const url = (name: string, protocols: readonly string[], example: string): string | undefined => {
    const value = text(name) ?? kept[name];
    if (value === undefined) return undefined;
    return URL.canParse(value) && protocols.includes(new URL(value).protocol) ? value : refuse(name, '…', `an address such as ${example}`);
  };

  const port = number('PORT', 3000);
  const secretKey = text('SECRET_KEY');
  if (secretKey !== undefined && secretKey.length < 32) problems.push('SECRET_KEY is shorter than 32 characters; make one with: openssl rand -hex 32');
  const safeMode = text('SAFE_MODE') ?? '0';
  if (!['0', '1'].includes(safeMode)) refuse('SAFE_MODE', safeMode, '0 or 1');

  const environment: Environment = {
    host: text('HOST') ?? '127.0.0.1',
    port,
    baseUrl: (url('BASE_URL', ['http:', 'https:'], 'https://forum.example.org') ?? `http://localhost:${port}`).replace(/\/+$/, ''),
    dataDir,
    databaseUrl: url('DATABASE_URL', ['postgres:', 'postgresql:'], 'postgres://user:password@host:5432/parley'),
    redisUrl: url('REDIS_URL', ['redis:', 'rediss:'], 'redis://host:6379'),
    secretKey,
    safeMode: safeMode === '1',
    production: text('NODE_ENV') === 'production',
    version,
  };
  if (problems.length > 0) throw new ConfigurationError(`The environment is not right:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  return environment;
}

/** What was chosen in the browser when the site was set up, by the variable that wins over it. */
function readKept(file: string, problems: string[]): Readonly<Record<string, string | undefined>> {
  try {
    const { database_url: database, redis_url: redis } = JSON.parse(readFileSync(file, 'utf8').trim() || '{}') as Readonly<Record<string, string | undefined>>;
    return { DATABASE_URL: database, REDIS_URL: redis };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    problems.push(`${file} cannot be read: ${messageOf(error)}; correct it, or delete it and set the variables`);
    return {};
  }
}
