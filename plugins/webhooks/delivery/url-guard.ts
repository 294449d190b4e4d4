import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { LookupAddress } from 'node:dns';
import { isPublic } from './public-ips.ts';

/** The address may not be reached from this server. The message says what to do. */
export class Blocked extends Error {
  override readonly name = 'Blocked';
}

/** Milliseconds that a name server has to answer. */
const PATIENCE = 2_500;

export interface GuardParts {
  /** Host names and addresses that may be reached wherever they are, on any port, as the operator wrote them. */
  readonly allowedHosts: readonly string[];
  readonly allowedPorts: readonly number[];
  /** Whether plain http is refused. */
  readonly secure: boolean;
  /** All addresses of a name; asks name servers where left out. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/** Keeps webhooks from reaching what is only within this server's reach. */
export class Guard {
  readonly #parts: GuardParts;

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  /**
   * The addresses a webhook at `url` may be sent to: connect to these and to no others, since the name may mean
   * something else a moment later. Throws `Blocked`, also when only one of them is not public; other errors are the
   * name servers'.
   */
  async addressesOf(url: URL): Promise<readonly LookupAddress[]> {
    this.#checkForm(url);
    const host = hostOf(url);
    if (this.#allows(host)) return isIP(host) ? [addressOf(host)] : lookup(host, { all: true });
    const { resolve = askNameServers } = this.#parts;
    const addresses = isIP(host) ? [host] : await resolve(host);
    if (addresses.length === 0) throw new Error('The name has no address');
    if (!addresses.every(isPublic))
      throw new Blocked(
        'is not on the public internet; an operator can allow the host in the variable WEBHOOKS_ALLOWED_HOSTS',
      );
    return addresses.map(addressOf);
  }

  /** What can be said without asking anybody. */
  #checkForm(url: URL): void {
    if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new Blocked('must begin with https:// or http://');
    if (url.username !== '' || url.password !== '') throw new Blocked('must not contain a name or password');
    const host = hostOf(url);
    if (this.#allows(host)) return;
    if (url.protocol === 'http:' && this.#parts.secure) throw new Blocked('must begin with https://');
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    const ports = this.#parts.allowedPorts;
    if (!ports.includes(port))
      throw new Blocked(
        `must use one of the ports ${ports.join(', ')}; an operator can allow others in the variable WEBHOOKS_ALLOWED_PORTS`,
      );
    // A name without a dot means something on this network only.
    if (!isIP(host) && !/[^.]\.[^.]/.test(host))
      throw new Blocked(
        'must be a full host name; an operator can allow the host in the variable WEBHOOKS_ALLOWED_HOSTS',
      );
  }

  #allows(host: string): boolean {
    return this.#parts.allowedHosts.some((allowed) => nameOf(allowed) === host);
  }
}

/** As names are compared: without brackets and final dots. */
const nameOf = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replace(/^\[|\]$|\.+$/g, '');
const hostOf = (url: URL): string => nameOf(url.hostname);
const addressOf = (address: string): LookupAddress => ({ address, family: isIP(address) });

/**
 * Not through the system's resolver, which knows names of this machine and keeps one of few threads busy while it
 * waits.
 */
async function askNameServers(host: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: PATIENCE, tries: 1 });
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (found.length === 0) throw (answers[0] as PromiseRejectedResult).reason;
  return found;
}
