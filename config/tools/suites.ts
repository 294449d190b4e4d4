/** A part of the tests that this machine cannot run, and what it lacks. */
export interface LeftOut {
  readonly name: string;
  readonly why: string;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** Chromium as Debian has it: without a window of its own, which takes half the processor time, and with one. */
const BROWSERS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

/** Where Chromium is: CHROMIUM_PATH, else where Debian puts it; `exists` asks for a file. */
export const browserPath = (variables: Variables, exists: (path: string) => boolean): string =>
  variables['CHROMIUM_PATH'] ?? BROWSERS.find(exists) ?? BROWSERS[1]!;

/** Chromium with a window, which alone keeps pages that were left: CHROMIUM_PATH, else where Debian puts it. */
export const windowedPath = (variables: Variables): string => variables['CHROMIUM_PATH'] ?? BROWSERS[1]!;

/** Where nginx is: NGINX_PATH, else where Debian puts it. */
export const proxyPath = (variables: Variables): string => variables['NGINX_PATH'] ?? '/usr/sbin/nginx';

/** Which suites cannot run with these environment variables; `exists` asks for a file. */
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
            why: 'TEST_DATABASE_URL names no PostgreSQL server where databases may be created, so one journey through each plugin stands for the rest; PARLEY_FULL=1 runs all on the embedded database',
          },
        ]),
    ...(variables['TEST_REDIS_URL']
      ? []
      : [{ name: 'several processes', why: 'TEST_REDIS_URL names no Redis server' }]),
    ...(exists(proxy) ? [] : [{ name: 'proxy', why: `there is no nginx at ${proxy}; set NGINX_PATH` }]),
    ...(exists(browser) ? [] : [{ name: 'browser', why: `there is no Chromium at ${browser}; set CHROMIUM_PATH` }]),
    ...(!exists(browser) || exists(windowed)
      ? []
      : [{ name: 'pages that were left', why: `there is no Chromium with a window at ${windowed}` }]),
  ];
}
