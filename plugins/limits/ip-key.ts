import ipaddr from 'ipaddr.js';

/** IPv6 by its /64, since one customer holds all of it; IPv4 inside IPv6 as IPv4. */
export function ipKey(text: string): string {
  const address = ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
  if (!address || !('parts' in address)) return address?.toString() ?? text;
  return `${address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
