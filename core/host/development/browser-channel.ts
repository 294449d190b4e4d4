import { randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Around } from '../server.ts';
import type { Problem, Problems } from './problems.ts';

/** Path prefix reserved for the script that is added to each page. */
const PREFIX = '/_development/';
const SCRIPT = `${PREFIX}client.js`;
const EVENTS = `${PREFIX}events`;
/** Milliseconds between the comment lines that keep an idle stream open. */
const HEARTBEAT = 20_000;

/** Sends events to open pages, and adds the script that receives them. */
export class BrowserChannel {
  readonly #problems: Problems;
  readonly #streams = new Set<ServerResponse>();
  /** Changes with this process and with each change of its files: pages rendered before are out of date. */
  #version = 0;
  readonly #process = randomUUID();
  #script: Promise<string> | undefined;
  /** Set while plugins are being replaced. */
  #pause: Promise<void> | undefined;

  constructor(problems: Problems) {
    this.#problems = problems;
    problems.watch(() => {
      if (!this.#pause) this.#send('problems', problems.list());
    });
  }

  /** Wraps the handling of each request. */
  readonly around: Around = (req, res, answer) => {
    if (req.url === EVENTS) return this.#stream(res);
    if (req.url?.split('?')[0] === SCRIPT) return void this.#sendScript(res);
    if (this.#pause) return void this.#pause.then(() => this.around(req, res, answer));
    // The script cannot be appended to a compressed body.
    delete req.headers['accept-encoding'];
    // The browser's copy has an older version of the script.
    delete req.headers['if-none-match'];
    this.#addScript(req, res);
    answer();
  };

  /**
   * Holds requests that arrive during `work` until it ends, and sends problems only then: a plugin that fails to start
   * is missing until the previous version is back. If there are no problems, all pages rendered so far are reloaded.
   * Calls must not overlap, and `work` must not reject.
   */
  async during(work: () => Promise<void>): Promise<void> {
    this.#pause = work().then(() => this.#notify());
    await this.#pause;
  }

  /** Runs before waiting requests are answered, so that their pages have the new version. */
  #notify(): void {
    this.#pause = undefined;
    this.#send('problems', this.#problems.list());
    if (this.#problems.list().length > 0) return;
    this.#version++;
    this.#send('version', this.#pageVersion);
  }

  close(): void {
    for (const stream of this.#streams) stream.end();
  }

  get #pageVersion(): string {
    return `${this.#process}-${this.#version}`;
  }

  #send(event: string, data: unknown): void {
    for (const stream of this.#streams) stream.write(eventText(event, data));
  }

  #stream(res: ServerResponse): void {
    res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    res.write(eventText('version', this.#pageVersion) + eventText('problems', this.#problems.list()));
    const beat = setInterval(() => res.write(':\n\n'), HEARTBEAT).unref();
    this.#streams.add(res);
    res.on('close', () => {
      clearInterval(beat);
      this.#streams.delete(res);
    });
  }

  async #sendScript(res: ServerResponse): Promise<void> {
    const text = await (this.#script ??= buildScript());
    res.writeHead(200, { 'Content-Type': 'text/javascript; charset=utf-8', 'Cache-Control': 'no-store' }).end(text);
  }

  /** Appends the script to pages with the page's own nonce, so that no policy has to be loosened. */
  #addScript(req: IncomingMessage, res: ServerResponse): void {
    const { writeHead, end } = res;
    const script = `${SCRIPT}?${this.#pageVersion}`;
    let added: string | undefined;
    let decided = false;
    const decide = (status: number): void => {
      if (decided) return;
      decided = true;
      added = this.#addition(req, res, { status, script });
      if (added !== undefined) res.removeHeader('Content-Length');
    };
    res.writeHead = ((status: number, ...more: readonly unknown[]) => {
      for (const [name, value] of pairsOf(more.at(-1))) res.setHeader(name, value);
      if (typeof more[0] === 'string') res.statusMessage = more[0];
      decide(status);
      return writeHead.call(res, status);
    }) as typeof writeHead;
    res.end = ((...words: Parameters<typeof end>) => {
      if (!res.headersSent) decide(res.statusCode);
      if (added === undefined || req.method === 'HEAD') return end.apply(res, words);
      const [chunk, encoding] = words.filter((word) => typeof word !== 'function');
      if (chunk !== undefined && chunk !== null) res.write(chunk, encoding ?? 'utf8');
      return end.call(res, added, 'utf8', words.find((word) => typeof word === 'function') as () => void);
    }) as typeof end;
  }

  #addition(
    req: IncomingMessage,
    res: ServerResponse,
    { status, script }: { readonly status: number; readonly script: string },
  ): string | undefined {
    const type = String(res.getHeader('Content-Type') ?? '');
    // No plugin has responded, because the one that renders pages is broken.
    const unanswered = type.startsWith('text/plain') && status === 404 && this.#problems.list().length > 0;
    if (unanswered && req.headers.accept?.includes('text/html')) {
      res.setHeader('Content-Type', 'text/html; charset=utf-8');
      const nonce = randomBytes(16).toString('base64');
      res.setHeader('Content-Security-Policy', `default-src 'none'; script-src 'nonce-${nonce}'; connect-src 'self'`);
    } else if (!type.startsWith('text/html')) return undefined;
    const policy = String(res.getHeader('Content-Security-Policy') ?? '');
    const [, nonce] = /'nonce-([^']+)'/.exec(policy) ?? [];
    // The page's policy allows no scripts.
    if (policy !== '' && nonce === undefined) return undefined;
    const problems = status >= 500 ? this.#problems.list().map(problemText) : [];
    return [
      ...problems.map((text) => `\n<pre>${escape(text)}</pre>`),
      `\n<script type="module" src="${script}"${nonce === undefined ? '' : ` nonce="${nonce}"`}></script>\n`,
    ].join('');
  }
}

const eventText = (event: string, data: unknown): string => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/** Headers in any form that `writeHead` accepts: alternating names and values, pairs, or an object. */
function pairsOf(given: unknown): ReadonlyArray<readonly [string, string | number | readonly string[]]> {
  if (typeof given !== 'object' || given === null) return [];
  if (!Array.isArray(given)) return Object.entries(given as Record<string, string>);
  if (given.every(Array.isArray)) return given as [string, string][];
  const list = given as readonly string[];
  return list.flatMap((name, at) => (at % 2 === 0 ? [[name, list[at + 1] ?? ''] as const] : []));
}

const problemText = ({ what, plugin, message, file, line }: Problem): string =>
  [
    `${plugin === undefined ? '' : `${plugin}: `}${what}`,
    message,
    ...(file === undefined ? [] : [`${file}${line === undefined ? '' : `:${line}`}`]),
  ].join('\n');

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Bundles the page's script into one file. */
async function buildScript(): Promise<string> {
  const { build } = await import('esbuild');
  const built = await build({
    entryPoints: [join(import.meta.dirname, 'client/client.ts')],
    bundle: true,
    write: false,
    format: 'esm',
    charset: 'utf8',
    logLevel: 'silent',
  });
  return built.outputFiles[0]!.text;
}
