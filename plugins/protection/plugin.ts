import { create as createDisposition } from 'content-disposition';
import { definePlugin, Environment, Http, pluginChanged, Routes, Type } from 'parley-forum';
import { DATA_POLICY, foreignSources, Protection, reportPaths, type HeaderPair, type Policy } from './api.ts';
import { readBody, readBytes, readJson } from './body.ts';
import { collectHeaders, reportingTo, type HeaderOptions } from './headers.ts';
import { PublicUrlGuard } from './outgoing/url-guard.ts';
import { TrustedProxies } from './proxies.ts';

export default definePlugin({
  id: 'protection',
  name: 'Protection',
  version: '1.0.0',
  description: 'Security headers, trusted proxies, limits of request bodies, and safe outgoing requests.',
  defends: true,
  needs: { environment: Environment, routes: Routes },
  provides: { protection: Protection, http: Http },
  extensionPoints: [foreignSources, reportPaths],
  movedSettings: { 'security.trusted_proxies': 'TRUSTED_PROXIES' },
  settings: Type.Object({
    'security.hsts_subdomains': Type.Boolean({
      default: false,
      title: 'Include subdomains in HSTS',
      'x-group': 'security',
      'x-danger': true,
      description:
        'Browsers will use only https for all subdomains for two years. Sent only while the site is served over https.',
    }),
    'security.upgrade_insecure': Type.Boolean({
      default: true,
      title: 'Ask browsers to use https',
      'x-group': 'security',
      'x-danger': true,
      description:
        'Browsers load everything over https. Turn this off if the site is opened over plain http on a local network.',
    }),
  }),

  setup({ environment, routes }, plugin) {
    const http = new TrustedProxies({
      closing: routes.closing,
      secureSite: environment.baseUrl.startsWith('https:'),
      protect: (res) => protection.headers(DATA_POLICY).forEach(([name, value]) => res.setHeader(name, value)),
    });
    http.set(environment.trustedProxies);

    const options = (): HeaderOptions => ({
      secure: environment.baseUrl.startsWith('https:'),
      subdomains: plugin.settings['security.hsts_subdomains'],
      upgrade: plugin.settings['security.upgrade_insecure'],
    });
    let made = new WeakMap<Policy, readonly HeaderPair[]>();
    let version = 0;
    const refresh = (): void => {
      made = new WeakMap();
      version++;
    };
    plugin.onSettings(refresh);
    // The report path is available only while its plugin runs.
    let [current] = plugin.extensions(reportPaths);
    plugin.on(pluginChanged, () => {
      const [now] = plugin.extensions(reportPaths);
      if (now !== current) refresh();
      current = now;
    });

    const protection: Protection = {
      get version() {
        return version;
      },
      refresh,
      headers(policy) {
        let headers = made.get(policy);
        if (!headers) made.set(policy, (headers = collectHeaders(policy, options())));
        return headers;
      },
      startDownload(res, { name, type }) {
        for (const [header, value] of protection.headers(DATA_POLICY)) res.setHeader(header, value);
        res.set({
          'Content-Type': type,
          'Content-Disposition': createDisposition(name),
          'Cache-Control': 'no-store',
          'X-Request-Id': http.requestId(res.req),
        });
      },
      open(policy) {
        const added = Map.groupBy(plugin.extensions(foreignSources), ({ value }) => value.directive);
        const opened = [...added].map(
          ([name, list]) => [name, [...(policy[name] ?? []), ...list.flatMap(({ value }) => value.hosts())]] as const,
        );
        const [path] = plugin.extensions(reportPaths);
        return { ...policy, ...Object.fromEntries(opened), ...(path && reportingTo(path.value)) };
      },
      body: readBody,
      bytes: readBytes,
      json: readJson,
      urlGuard: (rules) => new PublicUrlGuard(rules),
    };
    return { protection, http };
  },
});
