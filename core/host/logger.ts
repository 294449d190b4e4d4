import { createRequire } from 'node:module';
import { hostname } from 'node:os';
import { pino } from 'pino';
import type { PinoPretty } from 'pino-pretty';
import { causesOf, messageOf, messagesOf } from '../errors.ts';
import type { Logger } from '../logger.ts';

const SECRET = ['password', 'token', 'secret', 'authorization', 'cookie', 'api_token', 'password_hash'];
/** What databases say of a failed statement repeats the values in it, hashes and addresses among them. */
const VALUES = new Set(['query', 'params', 'parameters', 'queryOptions', 'internalQuery', 'detail', 'where']);

/** An error as it is logged: what went wrong and where, without what the statement was about. */
function serializable(error: object): object {
  const entries = Object.entries(error as Record<string, unknown>).filter(([name]) => !VALUES.has(name));
  return Object.fromEntries(
    entries.map(([name, value]) => [
      name,
      typeof value === 'object' && value !== null && 'stack' in value ? serializable(value) : value,
    ]),
  );
}

/** What went wrong, with the causes that the message does not tell itself. */
function wholeMessage(error: Error): string {
  return messagesOf(causesOf(error).filter((cause) => cause instanceof Error)).join(': ');
}

/** How log lines are written. */
export type LogFormat = 'json' | 'text';

/** `LOG_FORMAT`; otherwise for whoever reads: people at a terminal or while they write plugins, else programs. */
export function logFormat(variable: string | undefined, development = false): LogFormat {
  if (variable === 'json' || variable === 'text') return variable;
  return process.stdout.isTTY || development ? 'text' : 'json';
}

const require = createRequire(import.meta.url);

/** JSON lines, or readable ones, on standard output. */
export function createLogger({ level = 'info', format = logFormat(undefined) } = {}): Logger {
  const options = {
    level,
    // Of several processes, on several machines, each says which it is.
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
          // Whoever threw it may have put anything in place of its parts.
          return { message: messageOf(error) };
        }
      },
    },
  };
  if (format === 'json') return pino(options);
  // Loaded only where people read.
  const pretty = require('pino-pretty') as typeof PinoPretty;
  return pino(options, pretty({ sync: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss' }));
}
