import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { LookupAddress } from 'node:dns';
import { isPublicIp } from './public-ips.ts';

/** The URL may not be reached from this server. The message says what to do. */
export class BlockedUrl extends Error {
  override readonly name = 'Blocked';
}

/** Milliseconds for a name server to respond. */
const DNS_TIMEOUT = 2_500;

export interface UrlGuardOptions {
  /** Host names and IPs that may always be reached, on any port, as the operator wrote them. */
  readonly allowedHosts: readonly string[];
  readonly allowedPorts: readonly number[];
  /** Whether plain http is refused. */
  readonly secure: boolean;
  /** All IPs of a name; default: asks name servers. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/** Prevents webhooks from reaching this server's internal network (SSRF). */
export class UrlGuard {
  readonly #options: UrlGuardOptions;

  constructor(deps: UrlGuardOptions) {
    this.#options = deps;
  }

  /**
   * The addresses a webhook at `url` may be sent to: connect to these and to no others, since the name may mean
   * something else a moment later. Throws `BlockedUrl`, also when only one of them is not public; other errors are the
   * name servers'.
   */
  async resolve(url: URL): Promise<readonly LookupAddress[]> {
    this.#checkUrl(url);
    const host = hostOf(url);
    if (this.#allows(host)) return isIP(host) ? [toLookupAddress(host)] : lookup(host, { all: true });
    const { resolve = queryNameServers } = this.#options;
    const addresses = isIP(host) ? [host] : await resolve(host);
    if (addresses.length === 0) throw new Error('The name has no address');
    if (!addresses.every(isPublicIp))
      throw new BlockedUrl(
        'is not on the public internet; an operator can allow the host in the variable WEBHOOKS_ALLOWED_HOSTS',
      );
    return addresses.map(toLookupAddress);
  }

  /** What can be checked without a lookup. */
  #checkUrl(url: URL): void {
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      throw new BlockedUrl('must begin with https:// or http://');
    if (url.username !== '' || url.password !== '') throw new BlockedUrl('must not contain a name or password');
    const host = hostOf(url);
    if (this.#allows(host)) return;
    if (url.protocol === 'http:' && this.#options.secure) throw new BlockedUrl('must begin with https://');
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    const ports = this.#options.allowedPorts;
    if (!ports.includes(port))
      throw new BlockedUrl(
        `must use one of the ports ${ports.join(', ')}; an operator can allow others in the variable WEBHOOKS_ALLOWED_PORTS`,
      );
    // A name without a dot means something on this network only.
    if (!isIP(host) && !/[^.]\.[^.]/.test(host))
      throw new BlockedUrl(
        'must be a full host name; an operator can allow the host in the variable WEBHOOKS_ALLOWED_HOSTS',
      );
  }

  #allows(host: string): boolean {
    return this.#options.allowedHosts.some((allowed) => normaliseHost(allowed) === host);
  }
}

/** Names are compared without brackets and final dots. */
const normaliseHost = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replace(/^\[|\]$|\.+$/g, '');
const hostOf = (url: URL): string => normaliseHost(url.hostname);
const toLookupAddress = (address: string): LookupAddress => ({ address, family: isIP(address) });

/**
 * Not through the system's resolver, which knows names of this machine and blocks one of few threads while it
 * waits.
 */
async function queryNameServers(host: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT, tries: 1 });
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (found.length === 0) throw (answers[0] as PromiseRejectedResult).reason;
  return found;
}
