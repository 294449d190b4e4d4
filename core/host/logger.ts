import { hostname } from 'node:os';
import { pino } from 'pino';
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

// Imported only where it is used: it is for people at a terminal.
const pretty = process.stdout.isTTY ? (await import('pino-pretty')).default : undefined;

/** JSON lines on standard output; readable lines where that is a terminal. */
export function createLogger({ level = 'info', terminal = process.stdout.isTTY === true } = {}): Logger {
  const options = {
    level,
    // Of several processes, on several machines, each says which it is.
    base: terminal ? null : { host: hostname(), pid: process.pid },
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
  return terminal && pretty
    ? pino(options, pretty({ sync: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss' }))
    : pino(options);
}
