import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';
import type { HeaderPair, Policy } from './api.ts';

/** The directive that holds the path, and the name under which the path is announced. */
const REPORT_URI = 'report-uri';
const GROUP = 'csp';

export interface HeaderOptions {
  /** The site is served over https, so browsers may remember that. */
  readonly secure: boolean;
  /** Hosts below this one are served over https too. */
  readonly subdomains: boolean;
  /** Whether `upgrade-insecure-requests` is sent. */
  readonly upgrade: boolean;
}

/** helmet writes the headers once; every answer then sends what it wrote. */
export function collectHeaders(policy: Policy, { secure, subdomains, upgrade }: HeaderOptions): readonly HeaderPair[] {
  const pairs: HeaderPair[] = [];
  const directives = Object.fromEntries(Object.entries(policy).map(([name, values]) => [name, [...values]]));
  const run = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { ...directives, ...(upgrade && { 'upgrade-insecure-requests': [] }) },
    },
    // Two years, as the preload list asks.
    strictTransportSecurity: secure ? { maxAge: 63_072_000, includeSubDomains: subdomains } : false,
    referrerPolicy: { policy: 'strict-origin-when-cross-origin' },
    xFrameOptions: { action: 'sameorigin' },
    // For programs that are gone, and a browser's default: not worth their place in every answer.
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    originAgentCluster: false,
  });
  const collector = {
    setHeader: (name: string, value: string) => void pairs.push([name, String(value)]),
    removeHeader: () => undefined,
  };
  run({} as IncomingMessage, collector as unknown as ServerResponse, (error?: unknown) => {
    if (error) throw error;
  });
  const [path] = policy[REPORT_URI] ?? [];
  if (path !== undefined) pairs.push(['Reporting-Endpoints', `${GROUP}="${path}"`]);
  return pairs;
}

/** The directives that make browsers report violations: the second is for those that do not know the first. */
export const reportingTo = (path: string): Policy => ({ 'report-to': [GROUP], [REPORT_URI]: [path] });
