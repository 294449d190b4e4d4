import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { InvalidInput } from './errors.ts';

const family = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 4 ? 'ipv4' : 'ipv6');
/** IPv4 in IPv6 clothes (`::ffff:10.0.0.1`) is IPv4; anything that is no address is undefined. */
function plain(text: string | undefined): string | undefined {
  const address = text?.trim().replace(/^::ffff:(?=\d+\.)/i, '');
  return address !== undefined && isIP(address) ? address : undefined;
}

/** Sees clients through the proxies that the operator trusts. */
export class TrustedProxies {
  #trusted = new BlockList();
  #known = new WeakMap<IncomingMessage, string>();

  /** Single addresses or CIDR ranges, IPv4 and IPv6. 400 naming an entry that is neither. */
  set(entries: readonly string[]): void {
    const list = new BlockList();
    for (const entry of entries) {
      const [address = '', bits] = entry.split('/');
      const most = isIP(address) === 4 ? 32 : 128;
      const prefix = bits === undefined ? most : Number(bits);
      if (!isIP(address) || !Number.isInteger(prefix) || prefix < 0 || prefix > most) throw new InvalidInput([{ field: 'security.trusted_proxies', message: `"${entry}" is not an address or a CIDR range` }]);
      list.addSubnet(address, prefix, family(address));
    }
    this.#trusted = list;
    this.#known = new WeakMap();
  }

  /** The right-most address that is not a trusted proxy's; forwarded headers of anybody else are not looked at. */
  addressOf(req: IncomingMessage): string {
    let address = this.#known.get(req);
    if (address === undefined) this.#known.set(req, (address = this.#find(req)));
    return address;
  }

  secure(req: IncomingMessage): boolean {
    if ('encrypted' in req.socket) return true;
    return this.#trusts(plain(req.socket.remoteAddress)) && String(req.headers['x-forwarded-proto'] ?? '').split(',').at(-1)?.trim() === 'https';
  }

  #find(req: IncomingMessage): string {
    const peer = plain(req.socket.remoteAddress) ?? '0.0.0.0';
    if (!this.#trusts(peer)) return peer;
    const chain = String(req.headers['x-forwarded-for'] ?? '').split(',').map(plain).filter((one) => one !== undefined);
    const single = plain(String(req.headers['cf-connecting-ip'] ?? '')) ?? plain(String(req.headers['x-real-ip'] ?? ''));
    return chain.findLast((one) => !this.#trusts(one)) ?? single ?? chain[0] ?? peer;
  }

  #trusts(address: string | undefined): boolean {
    return address !== undefined && this.#trusted.check(address, family(address));
  }
}

/** What a rate limit counts an address as: IPv6 by its /64, since one customer holds all of it. */
export function rateKey(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail ? tail.split(':') : [];
  const groups = tail === undefined ? left : [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0'), ...right];
  return `${groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}
