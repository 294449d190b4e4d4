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
    'what the installer kept in `DATA_DIR/config.json`, else embedded PostgreSQL under `DATA_DIR`',
  ],
  REDIS_URL: [
    '`redis://…`; needed as soon as several processes serve one database',
    'what the installer kept in `DATA_DIR/config.json`, else in this process',
  ],
  SECRET_KEY: [
    'Root secret, at least 32 characters: `openssl rand -hex 32`',
    'made once and kept under `DATA_DIR`, mode 0600',
  ],
  SMTP_URL: [
    'Mail server: `smtps://name:password@host` or `smtp://…`',
    'what the installer kept in `DATA_DIR/config.json`, else each mail is a file in `DATA_DIR/mail`',
  ],
  MAIL_FROM: ['The address that mails come from', '`noreply@` and the site’s host'],
  TRUSTED_PROXIES: [
    'Addresses and CIDR ranges, with commas between them, whose `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Request-Id` are believed',
    'nobody is believed',
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
  SAFE_MODE: ['`1` starts only the admin panel and what it needs', '`0`'],
  LOG_REQUESTS: [
    '`1`: each request leaves a line in the log, with its id, address, method, path without query, status and milliseconds',
    '`0`',
  ],
  SERVER_TIMING: [
    '`1`: each answer says in `Server-Timing` how long the listeners, filters and handlers of each plugin took, and its SQL; `parley dev` sets it',
    '`0`',
  ],
  NODE_ENV: ['`production` where people depend on it', 'unset'],
  REQUEST_SECONDS: ['Seconds that one request may take to arrive, its body included', '`30`'],
  MAX_CONNECTIONS: ['Connections that may be open at a time; more are refused', '`5000`'],
  DRAIN_SECONDS: [
    'Seconds between `SIGTERM` and the closing of the port, in which `/readyz` answers 503 and requests are served as ever',
    '`2` in production, else `0`',
  ],
};

/**
 * One row per variable that config/environment.ts reads. Throws if a variable is not described above, or if an unused
 * one is.
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
          ['text', 'number', 'flag', 'url', 'origin', 'list'].includes(node.parent.expression.getText()),
      )
      .map((node) => node.text),
  );
  const unknown = [...read].filter((name) => !(name in MEANINGS));
  const unread = Object.keys(MEANINGS).filter((name) => !read.has(name));
  if (unknown.length > 0)
    throw new Error(`${path} reads ${unknown.join(', ')}; say what it means in config/tools/reference/environment.ts`);
  if (unread.length > 0)
    throw new Error(
      `${path} no longer reads ${unread.join(', ')}; take it out of config/tools/reference/environment.ts`,
    );
  return Object.entries(MEANINGS).map(([name, [meaning, fallback]]) => [`\`${name}\``, meaning, fallback]);
}
