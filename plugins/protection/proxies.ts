import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js';
import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { ConfigurationError, type Http } from 'parley-forum';

type Ip = IPv4 | IPv6;

const MAPPED = '::ffff:';
const PORT = /^\[([^\]]+)\](?::\d+)?$|^([\d.]+):\d+$/;
const RANGE = /^([^/]+)(?:\/(\d{1,3}))?$/;

/**
 * Parses an address without its port or zone; IPv4-mapped IPv6 becomes IPv4. Returns `undefined` for anything else,
 * including numbers that some systems accept as addresses.
 */
function parseIp(text: string): Ip | undefined {
  const trimmed = text.trim();
  const [, bracketed, four] = PORT.exec(trimmed) ?? [];
  const [address = ''] = (bracketed ?? four ?? trimmed).split('%');
  return isIP(address) ? ipaddr.process(address) : undefined;
}

/** The address in its shortest spelling. */
function normalizedIp(text: string): string | undefined {
  // Most requests return here: a dual-stack server sees every IPv4 client like this.
  const plain = text.startsWith(MAPPED) ? text.slice(MAPPED.length) : text;
  return isIP(plain) === 4 ? plain : parseIp(text)?.toString();
}

/** Request ids are unique across processes and cheap to generate: a random prefix per process and a counter. */
const PROCESS = crypto.randomUUID().slice(0, 8);
let counter = 0;
/** The format in which ids from proxies are accepted; safe wherever an id is shown. */
const GIVEN_ID = /^[\w.:-]{8,128}$/;

/** Stored on the request itself: a WeakMap would cost more in garbage collection than the rest of a guest's page. */
const ADDRESS = Symbol('address');
const ID = Symbol('id');
const SECURE = Symbol('secure');
interface ProxiedRequest extends IncomingMessage {
  [ADDRESS]?: string;
  [SECURE]?: boolean;
  [ID]?: string;
}

const header = (req: IncomingMessage, name: string): string => String(req.headers[name] ?? '');

/**
 * Null once the request was destroyed, for example because its body was too long; values read before that are
 * remembered.
 */
const socketOf = (req: IncomingMessage): Socket | null => req.socket;

/** Determines client IP, scheme and request id, taking into account the proxies that the operator trusts. */
export class TrustedProxies implements Http {
  readonly closing: AbortSignal;
  readonly protect: Http['protect'];
  #ranges: readonly [Ip, number][] = [];

  readonly #secureSite: boolean;

  /** `secureSite`: the site's URL is https, whatever proxies report or omit. */
  constructor({
    closing,
    protect,
    secureSite = false,
  }: Pick<Http, 'closing' | 'protect'> & { readonly secureSite?: boolean }) {
    this.#secureSite = secureSite;
    this.closing = closing;
    this.protect = protect;
  }

  /**
   * Sets the trusted proxies as single IP addresses or CIDR ranges, IPv4 and IPv6. Throws a `ConfigurationError` that
   * names an invalid entry, and leaves the list unchanged.
   */
  set(entries: readonly string[]): void {
    this.#ranges = entries.map(parseRange);
  }

  /**
   * The client's IP address; forwarded headers count only if the connecting address is trusted. 0.0.0.0 once the
   * connection is gone.
   */
  ip(req: ProxiedRequest): string {
    return (req[ADDRESS] ??= this.#find(req));
  }

  /** Whether the client's own connection is encrypted, according to the site's URL or the nearest trusted proxy. */
  secure(req: ProxiedRequest): boolean {
    return this.#secureSite || (req[SECURE] ??= this.#encrypted(req));
  }

  requestId(req: ProxiedRequest): string {
    return (req[ID] ??= this.#givenId(req) ?? `${PROCESS}-${(++counter).toString(36)}`);
  }

  /** The id assigned by a trusted proxy. */
  #givenId(req: IncomingMessage): string | undefined {
    const id = header(req, 'x-request-id');
    return GIVEN_ID.test(id) && this.#trusts(socketOf(req)?.remoteAddress ?? '') ? id : undefined;
  }

  #encrypted(req: IncomingMessage): boolean {
    const socket = socketOf(req);
    if (socket && 'encrypted' in socket) return true;
    return (
      this.#trusts(socket?.remoteAddress ?? '') &&
      header(req, 'x-forwarded-proto').split(',').at(-1)?.trim() === 'https'
    );
  }

  /**
   * X-Real-IP takes precedence over CF-Connecting-IP because proxies that set the former pass on a client's own copy of
   * the latter.
   */
  #find(req: IncomingMessage): string {
    const peer = normalizedIp(socketOf(req)?.remoteAddress ?? '') ?? '0.0.0.0';
    if (!this.#trusts(peer)) return peer;
    return (
      this.#forwarded(header(req, 'x-forwarded-for')) ??
      normalizedIp(header(req, 'x-real-ip')) ??
      normalizedIp(header(req, 'cf-connecting-ip')) ??
      peer
    );
  }

  /**
   * The rightmost address that is not a trusted proxy's. Everything to the left of an unreadable entry can be forged.
   */
  #forwarded(chain: string): string | undefined {
    let nearest: string | undefined;
    for (const hop of chain.split(',').toReversed()) {
      const address = normalizedIp(hop);
      if (address === undefined) return nearest;
      if (!this.#trusts(address)) return address;
      nearest = address;
    }
    return nearest;
  }

  #trusts(text: string): boolean {
    if (this.#ranges.length === 0) return false;
    const address = parseIp(text);
    return (
      address !== undefined &&
      this.#ranges.some(([range, bits]) => range.kind() === address.kind() && address.match(range, bits))
    );
  }
}

function parseRange(entry: string): [Ip, number] {
  const [, text = '', bits] = RANGE.exec(entry.trim()) ?? [];
  const address = parseIp(text);
  const most = address?.kind() === 'ipv4' ? 32 : 128;
  // In a range written as IPv4-mapped IPv6, the first 96 bits are the mapping.
  const mapped = most === 32 && isIP(text) === 6 ? 96 : 0;
  const prefix = bits === undefined ? most : Number(bits) - mapped;
  if (address && prefix >= 0 && prefix <= most) return [address, prefix];
  throw new ConfigurationError(`TRUSTED_PROXIES: "${entry}" is not an address or a CIDR range, such as 10.0.0.0/8`);
}
