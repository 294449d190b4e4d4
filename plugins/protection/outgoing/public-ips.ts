import ipaddr from 'ipaddr.js';

/** What is assigned of IPv6; the rest of it, IPv4 written as IPv6 and its translations too, leads elsewhere or nowhere. */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** Whether an IP is on the public internet: in no range that is set aside for something else. */
export function isPublicIp(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const ip = ipaddr.parse(address);
  return ip.range() === 'unicast' && (ip.kind() === 'ipv4' || ip.match(GLOBAL_IPV6));
}
