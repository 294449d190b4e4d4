import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, SocketAddress } from 'node:net';
import { InvalidInput } from './errors.ts';

const MAPPED = '::ffff:';
const PORT = /^\[([^\]]+)\](?::\d+)?$|^([\d.]+):\d+$/;
const RANGE = /^([^/]+)(?:\/(\d{1,3}))?$/;

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 4 ? 'ipv4' : 'ipv6');

/** The shortest spelling, without port or zone; IPv4 inside IPv6 is IPv4. `undefined` for what is no address. */
function normal(text: string): string | undefined {
  const trimmed = text.trim();
  // Most requests end here: a server that listens for both kinds sees every IPv4 client like this.
  const plain = trimmed.startsWith(MAPPED) ? trimmed.slice(MAPPED.length) : trimmed;
  if (isIP(plain) === 4) return plain;
  const [, bracketed, four] = PORT.exec(trimmed) ?? [];
  const address = bracketed ?? four ?? trimmed;
  if (isIP(address) !== 6) return isIP(address) === 4 ? address : undefined;
  const short = new SocketAddress({ address, family: 'ipv6' }).address;
  return short.startsWith(MAPPED) && short.includes('.') ? short.slice(MAPPED.length) : short;
}

/** Addresses whose trust is remembered, since asking the list costs as much as the rest of a small request. */
const FOUND = 1_000;

const header = (req: IncomingMessage, name: string): string => String(req.headers[name] ?? '');

/** Sees clients through the proxies that the operator trusts. */
export class TrustedProxies {
  #list = new BlockList();
  #none = true;
  readonly #found = new Map<string, boolean>();
  #known = new WeakMap<IncomingMessage, string>();

  /** Single addresses or CIDR ranges, IPv4 and IPv6. Throws `InvalidInput` naming the entry that is neither, and keeps the list it had. */
  set(entries: readonly string[]): void {
    const list = new BlockList();
    for (const entry of entries) {
      const [, text = '', bits] = RANGE.exec(entry.trim()) ?? [];
      const address = normal(text);
      // Of a range written as IPv4 inside IPv6, the first 96 bits are the mapping.
      const mapped = address !== undefined && isIP(address) === 4 && isIP(text) === 6 ? 96 : 0;
      const most = address !== undefined && isIP(address) === 4 ? 32 : 128;
      const prefix = bits === undefined ? most : Number(bits) - mapped;
      if (address === undefined || prefix < 0 || prefix > most) {
        throw new InvalidInput([{ field: 'security.trusted_proxies', message: `"${entry}" is not an address or a CIDR range, such as 10.0.0.0/8` }]);
      }
      list.addSubnet(address, prefix, familyOf(address));
    }
    this.#list = list;
    this.#none = entries.length === 0;
    this.#found.clear();
    this.#known = new WeakMap();
  }

  /** Who sent the request; what forwarded headers say counts only when the connecting address is trusted. 0.0.0.0 once the connection is gone. */
  addressOf(req: IncomingMessage): string {
    const known = this.#known.get(req);
    if (known !== undefined) return known;
    const address = this.#find(req);
    this.#known.set(req, address);
    return address;
  }

  /** Whether the client's own connection was encrypted, as far as the nearest trusted proxy says. */
  secure(req: IncomingMessage): boolean {
    if ('encrypted' in req.socket) return true;
    return this.#trusts(normal(req.socket.remoteAddress ?? '')) && header(req, 'x-forwarded-proto').split(',').at(-1)?.trim() === 'https';
  }

  /** X-Real-IP comes before CF-Connecting-IP because proxies that set the first let a client's own copy of the second through. */
  #find(req: IncomingMessage): string {
    const peer = normal(req.socket.remoteAddress ?? '') ?? '0.0.0.0';
    if (!this.#trusts(peer)) return peer;
    return this.#forwarded(header(req, 'x-forwarded-for')) ?? normal(header(req, 'x-real-ip')) ?? normal(header(req, 'cf-connecting-ip')) ?? peer;
  }

  /** The right-most address that is no trusted proxy's. What stands left of an unreadable entry could be anybody's claim. */
  #forwarded(chain: string): string | undefined {
    let nearest: string | undefined;
    for (const hop of chain.split(',').toReversed()) {
      const address = normal(hop);
      if (address === undefined) return nearest;
      if (!this.#trusts(address)) return address;
      nearest = address;
    }
    return nearest;
  }

  #trusts(address: string | undefined): boolean {
    if (this.#none || address === undefined) return false;
    const found = this.#found.get(address);
    if (found !== undefined) return found;
    if (this.#found.size === FOUND) this.#found.clear();
    const trusted = this.#list.check(address, familyOf(address));
    this.#found.set(address, trusted);
    return trusted;
  }
}

/** What a rate limit counts an address as: IPv6 by its /64, since one customer holds all of it. */
export function rateKey(address: string): string {
  const short = normal(address) ?? address;
  if (isIP(short) !== 6) return short;
  const [left = [], right = []] = short.split('::').map((half) => half.split(':').filter(Boolean));
  const zeros = Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0');
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`;
}
