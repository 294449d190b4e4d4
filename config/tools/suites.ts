/** A test suite that this machine cannot run, and what it lacks. */
export interface LeftOut {
  readonly name: string;
  readonly why: string;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** Debian's Chromium binaries: headless, which needs half the processor time, and with a window. */
const BROWSERS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

/** The path of Chromium: CHROMIUM_PATH, or else Debian's location; `exists` checks for a file. */
export const browserPath = (variables: Variables, exists: (path: string) => boolean): string =>
  variables['CHROMIUM_PATH'] ?? BROWSERS.find(exists) ?? BROWSERS[1]!;

/**
 * The path of Chromium with a window, the only one with a back/forward cache: CHROMIUM_PATH, or else Debian's location.
 */
export const windowedPath = (variables: Variables): string => variables['CHROMIUM_PATH'] ?? BROWSERS[1]!;

/** The path of nginx: NGINX_PATH, or else Debian's location. */
export const proxyPath = (variables: Variables): string => variables['NGINX_PATH'] ?? '/usr/sbin/nginx';

/** The suites that cannot run with these environment variables; `exists` checks for a file. */
export function leftOut(variables: Variables, exists: (path: string) => boolean): readonly LeftOut[] {
  const browser = browserPath(variables, exists);
  const windowed = windowedPath(variables);
  const proxy = proxyPath(variables);
  return [
    ...(variables['TEST_DATABASE_URL']
      ? []
      : [
          {
            name: 'server',
            why: 'TEST_DATABASE_URL is not set to a PostgreSQL server where databases may be created, so only one journey through each plugin runs; PARLEY_FULL=1 runs all tests on the embedded database',
          },
        ]),
    ...(variables['TEST_REDIS_URL']
      ? []
      : [{ name: 'several processes', why: 'TEST_REDIS_URL is not set to a Redis server' }]),
    ...(exists(proxy) ? [] : [{ name: 'proxy', why: `there is no nginx at ${proxy}; set NGINX_PATH` }]),
    ...(exists(browser) ? [] : [{ name: 'browser', why: `there is no Chromium at ${browser}; set CHROMIUM_PATH` }]),
    ...(!exists(browser) || exists(windowed)
      ? []
      : [{ name: 'pages that were left', why: `there is no Chromium with a window at ${windowed}` }]),
  ];
}
