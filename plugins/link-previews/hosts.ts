/**
 * Normalises a host as URLs do: `münchen.example` becomes punycode, and the final dot, which means nothing, is removed.
 */
const plain = (host: string): string => (URL.parse(`http://${host}`)?.hostname ?? host).replace(/\.$/, '');

/** Whether `host` is `other` or a host below it. */
export const isBelow = (host: string, other: string): boolean => `.${plain(host)}`.endsWith(`.${plain(other)}`);
