/** As URLs have it: `münchen.example` under its other name, and without the final dot that says nothing. */
const plain = (host: string): string => (URL.parse(`http://${host}`)?.hostname ?? host).replace(/\.$/, '');

/** Whether `host` is `other` or a host below it. */
export const isBelow = (host: string, other: string): boolean => `.${plain(host)}`.endsWith(`.${plain(other)}`);
