import type { IncomingMessage } from 'node:http';
import type { Http, Response } from '#core';

/** Cookies of this forum: under https they are `Secure` and carry the `__Host-` prefix, so that no other host can set them. */
export class Cookies {
  readonly #http: Http;
  /** What the site's origin says, for answers made without a request at hand. */
  readonly secureSite: boolean;

  constructor(http: Http, baseUrl: string) {
    this.#http = http;
    this.secureSite = baseUrl.startsWith('https:');
  }

  secure(req: IncomingMessage): boolean {
    return this.secureSite || this.#http.secure(req);
  }

  name(base: string, secure: boolean): string {
    return secure ? `__Host-${base}` : base;
  }

  read(header: string | undefined, name: string): string | undefined {
    const start = header === undefined ? -1 : ` ${header}`.indexOf(` ${name}=`);
    if (header === undefined || start < 0) return undefined;
    const from = start + name.length + 1;
    const end = header.indexOf(';', from);
    return header.slice(from, end < 0 ? undefined : end);
  }

  line(name: string, value: string, secure: boolean): string {
    return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
  }

  clear(res: Response, name: string, secure: boolean): void {
    res.append('Set-Cookie', `${name}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`);
  }

  /** Takes back what this answer was going to set, so that no name is set twice. */
  withdraw(res: Response, name: string): void {
    const lines = res.getHeader('Set-Cookie');
    if (lines === undefined) return;
    const kept = (Array.isArray(lines) ? lines : [String(lines)]).filter((line) => !line.startsWith(`${name}=`));
    if (kept.length > 0) res.setHeader('Set-Cookie', kept);
    else res.removeHeader('Set-Cookie');
  }
}
