import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterAll, beforeAll, beforeEach } from 'vitest';

/** The response of a page on the outside server. */
export interface OutsidePage {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}
/** Another server, simulated on this machine; a page that is `undefined` never responds. */
export interface Outside {
  /** The URL of a path, under an address of this machine. */
  url(path: string, host?: string): string;
  readonly pages: Map<string, OutsidePage | undefined>;
  /** Requested paths, in order. */
  readonly asked: string[];
}

/** A page with this head. */
export const page = (head: string, headers: Readonly<Record<string, string>> = {}): OutsidePage => ({
  headers: { 'content-type': 'text/html; charset=utf-8', ...headers },
  body: `<!doctype html><html><head>${head}</head><body><p>Words</p></body></html>`,
});
/** A page with a title and a description. */
export const titled = (title: string, more = ''): OutsidePage =>
  page(`<title>${title}</title><meta name="description" content="All about ${title}">${more}`);

/** Starts a server on all addresses of this machine; each test starts without pages. */
export function useOutside(): Outside {
  const pages = new Map<string, OutsidePage | undefined>();
  const asked: string[] = [];
  const server = createServer((req, res) => {
    const path = req.url ?? '';
    asked.push(path);
    const answer = pages.has(path) ? pages.get(path) : { status: 404 };
    if (answer) res.writeHead(answer.status ?? 200, answer.headers).end(answer.body);
  });
  const port = (): number => (server.address() as { port: number }).port;
  beforeAll(async () => {
    server.listen(0, '0.0.0.0');
    await once(server, 'listening');
  });
  beforeEach(() => {
    pages.clear();
    asked.length = 0;
  });
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });
  return { pages, asked, url: (path, host = '127.0.0.1') => `http://${host}:${port()}${path}` };
}
