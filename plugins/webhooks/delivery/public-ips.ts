import { BlockList, isIPv4 } from 'node:net';

/** Ranges that are not on the public internet, or translate to other addresses. */
const RESERVED_4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/**
 * All of IPv6 but 2000::/3, so IPv4 written as IPv6 and its translations too; of that what is reserved, for documents,
 * Teredo and 6to4.
 */
const GLOBAL_6 = '2000::/3';
const RESERVED_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

function blockList(ranges: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const [network = '', bits] of ranges.map((range) => range.split('/')))
    list.addSubnet(network, Number(bits), family);
  return list;
}
const reserved4 = blockList(RESERVED_4, 'ipv4');
const global6 = blockList([GLOBAL_6], 'ipv6');
const reserved6 = blockList(RESERVED_6, 'ipv6');

/** Whether an IP is on the public internet. */
export const isPublicIp = (address: string): boolean =>
  isIPv4(address)
    ? !reserved4.check(address, 'ipv4')
    : global6.check(address, 'ipv6') && !reserved6.check(address, 'ipv6');
