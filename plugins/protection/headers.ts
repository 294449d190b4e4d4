import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';
import type { HeaderPair, Policy } from './api.ts';

/** The directive with the report path, and the name of the reporting endpoint. */
const REPORT_URI = 'report-uri';
const GROUP = 'csp';

export interface HeaderOptions {
  /** Whether the site is served over https, so that browsers may remember that. */
  readonly secure: boolean;
  /** Whether its subdomains are served over https too. */
  readonly subdomains: boolean;
  /** Whether `upgrade-insecure-requests` is sent. */
  readonly upgrade: boolean;
}

/** Collects the headers that helmet would write, so that they can be reused for every response. */
export function collectHeaders(policy: Policy, { secure, subdomains, upgrade }: HeaderOptions): readonly HeaderPair[] {
  const pairs: HeaderPair[] = [];
  const directives = Object.fromEntries(Object.entries(policy).map(([name, values]) => [name, [...values]]));
  const run = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { ...directives, ...(upgrade && { 'upgrade-insecure-requests': [] }) },
    },
    // Two years, as required by the preload list.
    strictTransportSecurity: secure ? { maxAge: 63_072_000, includeSubDomains: subdomains } : false,
    referrerPolicy: { policy: 'strict-origin-when-cross-origin' },
    xFrameOptions: { action: 'sameorigin' },
    // Only useful for obsolete programs, or equal to the browser default: not worth the bytes in every response.
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

/**
 * The directives that make browsers report violations: `report-uri` is for browsers that do not support `report-to`.
 */
export const reportingTo = (path: string): Policy => ({ 'report-to': [GROUP], [REPORT_URI]: [path] });
