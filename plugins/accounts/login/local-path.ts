/** The path of `text` where it is a URL of this site, else `/`: a login never redirects elsewhere. */
export function localPath(text: string | undefined, baseUrl: string): string {
  if (text === undefined || /[\\\p{Cc}]/v.test(text) || !URL.canParse(text, baseUrl)) return '/';
  const site = new URL(baseUrl);
  const url = new URL(text, site);
  // A path that begins with two slashes would be read as another host.
  return url.origin === site.origin && !url.pathname.startsWith('//') ? url.pathname + url.search + url.hash : '/';
}
