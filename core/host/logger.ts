import { createRequire } from 'node:module';
import { hostname } from 'node:os';
import { pino } from 'pino';
import type { PinoPretty } from 'pino-pretty';
import { causesOf, messageOf, messagesOf } from '../errors.ts';
import type { Logger } from '../logger.ts';

const SECRET = ['password', 'token', 'secret', 'authorization', 'cookie', 'api_token', 'password_hash'];
/** Fields in which database errors repeat the values of a failed statement, including hashes and addresses. */
const VALUES = new Set(['query', 'params', 'parameters', 'queryOptions', 'internalQuery', 'detail', 'where']);

/** An error as it is logged, without the values of the failed statement. */
function serializable(error: object): object {
  const entries = Object.entries(error as Record<string, unknown>).filter(([name]) => !VALUES.has(name));
  return Object.fromEntries(
    entries.map(([name, value]) => [
      name,
      typeof value === 'object' && value !== null && 'stack' in value ? serializable(value) : value,
    ]),
  );
}

/** The error's message, followed by those of its causes that it does not already contain. */
function wholeMessage(error: Error): string {
  return messagesOf(causesOf(error).filter((cause) => cause instanceof Error)).join(': ');
}

/** The format of log lines. */
export type LogFormat = 'json' | 'text';

/** `LOG_FORMAT` if set; otherwise text for people, at a terminal or in development, and JSON for programs. */
export function logFormat(variable: string | undefined, development = false): LogFormat {
  if (variable === 'json' || variable === 'text') return variable;
  return process.stdout.isTTY || development ? 'text' : 'json';
}

const require = createRequire(import.meta.url);

/** Logs JSON or human-readable lines to standard output. */
export function createLogger({ level = 'info', format = logFormat(undefined) } = {}): Logger {
  const options = {
    level,
    // Identifies the process among several on several machines.
    base: format === 'text' ? null : { host: hostname(), pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[secret]' },
    serializers: {
      error: (error: unknown) => {
        try {
          return error instanceof Error
            ? serializable({ ...pino.stdSerializers.err(error), message: wholeMessage(error) })
            : error;
        } catch {
          // Thrown errors may have anything in place of their properties.
          return { message: messageOf(error) };
        }
      },
    },
  };
  if (format === 'json') return pino(options);
  // Loaded only if people read the log.
  const pretty = require('pino-pretty') as typeof PinoPretty;
  return pino(options, pretty({ sync: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss' }));
}
