import { lookup, Resolver } from 'node:dns/promises';
import { request as plainRequest, type IncomingMessage } from 'node:http';
import { request as secureRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import {
  BlockedUrl,
  type GuardedRequest,
  type GuardedResponse,
  type ResolvedAddress,
  type UrlGuard,
  type UrlGuardOptions,
} from '../api.ts';
import { isPublicIp } from './public-ips.ts';

/** Timeout for a name server's response, in milliseconds. */
const DNS_TIMEOUT = 2_500;

/** Resolves names, and connects only to addresses it has checked. */
export class PublicUrlGuard implements UrlGuard {
  readonly #options: UrlGuardOptions;

  constructor(deps: UrlGuardOptions) {
    this.#options = deps;
  }

  async resolve(url: URL): Promise<readonly ResolvedAddress[]> {
    this.check(url);
    const host = hostOf(url);
    if (this.#allows(host)) return isIP(host) ? [toLookupAddress(host)] : lookup(host, { all: true });
    const { resolve = queryNameServers } = this.#options;
    const addresses = isIP(host) ? [host] : await resolve(host);
    if (addresses.length === 0) throw new Error('The name has no address');
    this.#checkAddresses(addresses);
    return addresses.map(toLookupAddress);
  }

  async request(url: URL, { method, headers, body, signal }: GuardedRequest): Promise<GuardedResponse> {
    const addresses = await abortable(signal, this.resolve(url));
    const request = (url.protocol === 'https:' ? secureRequest : plainRequest)(url, {
      method,
      agent: false,
      signal,
      lookup: pinnedLookup(addresses),
      headers,
    });
    const { promise: answered, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    // Errors after the response has started surface where it is read. A server that switches protocols (101) ends the
    // request with neither a response nor an error.
    request
      .on('response', resolve)
      .on('error', reject)
      .on('close', () => reject(new Error('The connection was closed without a response')))
      .end(body);
    return answered;
  }

  check(url: URL): void {
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      throw new BlockedUrl('must begin with https:// or http://');
    if (url.username !== '' || url.password !== '') throw new BlockedUrl('must not contain a name or password');
    const host = hostOf(url);
    if (this.#allows(host)) return;
    if (url.protocol === 'http:' && this.#options.secure) throw new BlockedUrl('must begin with https://');
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    const ports = this.#options.allowedPorts;
    if (!ports.includes(port))
      throw new BlockedUrl(`must use one of the ports ${ports.join(', ')}${this.#remedy('ports', 'others')}`);
    if (isIP(host)) this.#checkAddresses([host]);
    // A name without a dot is only meaningful on this network.
    else if (!/[^.]\.[^.]/.test(host))
      throw new BlockedUrl(`must be a full host name${this.#remedy('hosts', 'the host')}`);
  }

  #checkAddresses(addresses: readonly string[]): void {
    if (!addresses.every(isPublicIp))
      throw new BlockedUrl(`is not on the public internet${this.#remedy('hosts', 'the host')}`);
  }

  #remedy(kind: 'hosts' | 'ports', what: string): string {
    const variable = this.#options.variables[kind];
    return variable === undefined ? '' : `; an operator can allow ${what} in the variable ${variable}`;
  }

  #allows(host: string): boolean {
    return this.#options.allowedHosts.some((allowed) => normaliseHost(allowed) === host);
  }
}

/** Host names are compared without brackets and trailing dots. */
const normaliseHost = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replace(/^\[|\]$|\.+$/g, '');
const hostOf = (url: URL): string => normaliseHost(url.hostname);
const toLookupAddress = (address: string): ResolvedAddress => ({ address, family: isIP(address) });

/**
 * Does not use the system's resolver, which knows this machine's local names and blocks one of few threads while it
 * waits.
 */
async function queryNameServers(host: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT, tries: 1 });
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (found.length === 0) throw (answers[0] as PromiseRejectedResult).reason;
  return found;
}

/** Rejects when `signal` aborts, for work that cannot be cancelled, such as lookups by the system's resolver. */
async function abortable<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort);
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', abort));
}

/** Replaces the resolver, so that the connection goes to the addresses that were checked. */
const pinnedLookup =
  (addresses: readonly ResolvedAddress[]): LookupFunction =>
  (_host, options, done) => {
    const [first] = addresses;
    if (options.all) done(null, [...addresses]);
    else done(null, first!.address, first!.family);
  };
