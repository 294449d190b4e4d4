import ipaddr from 'ipaddr.js';

/**
 * The assigned part of IPv6; all other addresses, including IPv4-mapped and translated ones, are unassigned or lead
 * elsewhere.
 */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** Whether an IP address is on the public internet, that is, in no special-purpose range. */
export function isPublicIp(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const ip = ipaddr.parse(address);
  return ip.range() === 'unicast' && (ip.kind() === 'ipv4' || ip.match(GLOBAL_IPV6));
}
