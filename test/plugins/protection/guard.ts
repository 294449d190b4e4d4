import type { UrlGuard, UrlGuardOptions } from 'parley-forum/plugins/protection';
import { PublicUrlGuard } from '../../../plugins/protection/outgoing/url-guard.ts';

/** A guard for which every name resolves to these addresses. */
export const guardOf = (addresses: readonly string[], more: Partial<UrlGuardOptions> = {}): PublicUrlGuard =>
  new PublicUrlGuard({
    allowedHosts: [],
    allowedPorts: [80, 443],
    variables: { hosts: 'ALLOWED_HOSTS' },
    secure: false,
    resolve: () => Promise.resolve(addresses),
    ...more,
  });
/** The addresses at which a URL may be reached, or the reason why it is blocked. */
export const check = (guard: UrlGuard, url: string): Promise<unknown> =>
  guard.resolve(new URL(url)).then(
    (found) => found.map(({ address }) => address),
    (error: unknown) => error,
  );
