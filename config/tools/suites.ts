/** A part of the tests that this machine cannot run, and what it lacks. */
export interface LeftOut {
  readonly name: string;
  readonly why: string;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** Where Chromium is: CHROMIUM_PATH, else where Debian puts it. */
export const browserPath = (variables: Variables): string => variables['CHROMIUM_PATH'] ?? '/usr/bin/chromium';

/** Where nginx is: NGINX_PATH, else where Debian puts it. */
export const proxyPath = (variables: Variables): string => variables['NGINX_PATH'] ?? '/usr/sbin/nginx';

/** Which suites cannot run with these environment variables; `exists` asks for a file. */
export function leftOut(variables: Variables, exists: (path: string) => boolean): readonly LeftOut[] {
  const browser = browserPath(variables);
  const proxy = proxyPath(variables);
  return [
    ...(variables['TEST_DATABASE_URL']
      ? []
      : [{ name: 'server', why: 'TEST_DATABASE_URL names no PostgreSQL server where databases may be created' }]),
    ...(variables['TEST_REDIS_URL']
      ? []
      : [{ name: 'several processes', why: 'TEST_REDIS_URL names no Redis server' }]),
    ...(exists(proxy) ? [] : [{ name: 'proxy', why: `there is no nginx at ${proxy}; set NGINX_PATH` }]),
    ...(exists(browser) ? [] : [{ name: 'browser', why: `there is no Chromium at ${browser}; set CHROMIUM_PATH` }]),
  ];
}
