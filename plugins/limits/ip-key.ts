import ipaddr from 'ipaddr.js';

/** Reduces IPv6 addresses to their /64, since one customer holds all of it; IPv4-mapped IPv6 addresses become IPv4. */
export function ipKey(text: string): string {
  const address = ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
  if (!address || !('parts' in address)) return address?.toString() ?? text;
  return `${address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
