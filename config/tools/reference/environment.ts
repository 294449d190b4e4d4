import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { nodesOf, parseSource } from '../checks/support/source.ts';

/** The meaning of each variable to an operator, and its default. */
const MEANINGS: Readonly<Record<string, readonly [meaning: string, fallback: string]>> = {
  HOST: ['Address to listen on; `0.0.0.0` for all', '`127.0.0.1`'],
  PORT: ['Port to listen on', '`3000`'],
  BASE_URL: ['The site’s origin in feeds, mail and the sitemap, without a path', '`http://localhost:$PORT`'],
  DATA_DIR: [
    'Everything the server writes: embedded database, uploads, built assets, generated keys, `config.json`',
    '`./data`',
  ],
  DATABASE_URL: [
    '`postgres://…` of a PostgreSQL server (15 or later)',
    'the value that the installer stored in `DATA_DIR/config.json`, otherwise embedded PostgreSQL under `DATA_DIR`',
  ],
  REDIS_URL: [
    '`redis://…`; required if several processes serve one database',
    'the value that the installer stored in `DATA_DIR/config.json`, otherwise in-process',
  ],
  SECRET_KEY: [
    'Root secret, at least 32 characters: `openssl rand -hex 32`',
    'generated once and stored under `DATA_DIR` with mode 0600',
  ],
  SMTP_URL: [
    'Mail server: `smtps://name:password@host` or `smtp://…`',
    'the value that the installer stored in `DATA_DIR/config.json`, otherwise each mail is written to a file in `DATA_DIR/mail`',
  ],
  MAIL_FROM: ['Sender address of mails', '`noreply@` followed by the site’s host'],
  TRUSTED_PROXIES: [
    'Comma-separated addresses and CIDR ranges whose `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Request-Id` headers are trusted',
    'none',
  ],
  WEBHOOKS_ALLOWED_HOSTS: [
    'Exact names and addresses of hosts inside the network that webhooks may be sent to, on any port and over plain http',
    'none',
  ],
  WEBHOOKS_ALLOWED_PORTS: ['Ports of public hosts that webhooks may be sent to', '`80, 443`'],
  LINK_PREVIEWS_ALLOWED_HOSTS: [
    'Exact names and addresses of hosts inside the network whose pages members may see previews of, on any port',
    'none',
  ],
  SSO_ALLOWED_HOSTS: [
    'Exact names and addresses of hosts inside the network that may be identity providers, on any port, also without https',
    'none',
  ],
  PUSH_ALLOWED_HOSTS: [
    'Exact names and addresses of hosts inside the network that may be push services, on any port, also without https',
    'none',
  ],
  SAFE_MODE: ['`1` starts only the admin panel and what it needs', '`0`'],
  LOG_REQUESTS: [
    '`1`: logs a line for each request, with its id, address, method, path without query, status and milliseconds',
    '`0`',
  ],
  LOG_LEVEL: ['The least important lines that are logged: `error`, `warn`, `info` or `debug`', '`info`'],
  LOG_FORMAT: ['`json`, or `text` for people', '`text` at a terminal and from `parley dev`, otherwise `json`'],
  SERVER_TIMING: [
    '`1`: each response reports in `Server-Timing` how long the listeners, filters and handlers of each plugin took, and the SQL; `parley dev` sets it',
    '`0`',
  ],
  NODE_ENV: ['`production` on sites that people depend on', 'unset'],
  REQUEST_SECONDS: ['Seconds within which a request must be received, including its body', '`30`'],
  MAX_CONNECTIONS: ['Maximum number of concurrent connections; more are refused', '`5000`'],
  DRAIN_SECONDS: [
    'Seconds between `SIGTERM` and the closing of the port, during which `/readyz` answers 503 and requests are served as usual',
    '`2` in production, otherwise `0`',
  ],
  PARLEY_SITE: [
    'The site’s folder, to start the program or run a command from elsewhere',
    'the working directory if it has a configuration, otherwise the program’s own folder',
  ],
  PARLEY_DEBUG: ['`1`: a command that fails prints where', '`0`'],
};

/** Modules that read variables before config/environment.ts does. */
const DIRECT = ['core/host/site.ts', 'core/cli/cli.ts'];

/**
 * One row per variable that the program reads. Throws if a variable is not described above, or if an unused one is.
 */
export function environmentRows(root: string): ReadonlyArray<readonly string[]> {
  const path = 'config/environment.ts';
  const source = parseSource({ path, text: readFileSync(join(root, path), 'utf8') });
  const read = new Set(
    [...nodesOf(source)]
      .filter(ts.isStringLiteral)
      .filter(
        (node) =>
          ts.isCallExpression(node.parent) &&
          node.parent.arguments[0] === node &&
          ['text', 'number', 'flag', 'url', 'origin', 'list', 'hosts', 'choice'].includes(
            node.parent.expression.getText(),
          ),
      )
      .map((node) => node.text),
  );
  for (const file of DIRECT)
    for (const [, name = ''] of readFileSync(join(root, file), 'utf8').matchAll(/process\.env\['(\w+)'\]/g))
      read.add(name);
  const unknown = [...read].filter((name) => !(name in MEANINGS));
  const unread = Object.keys(MEANINGS).filter((name) => !read.has(name));
  if (unknown.length > 0)
    throw new Error(`The program reads ${unknown.join(', ')}; describe it in config/tools/reference/environment.ts`);
  if (unread.length > 0)
    throw new Error(
      `The program no longer reads ${unread.join(', ')}; remove it from config/tools/reference/environment.ts`,
    );
  return Object.entries(MEANINGS).map(([name, [meaning, fallback]]) => [`\`${name}\``, meaning, fallback]);
}
