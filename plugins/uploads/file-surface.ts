import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import {
  defineSurface,
  HttpError,
  notFound,
  type RequestContext,
  type Http,
  type Logger,
  type PluginHandle,
  type Request,
  type Response,
  type SurfaceBehaviour,
} from 'parley-forum';
import { isFresh } from 'parley-forum/plugins/api';
import { DATA_POLICY, presentable, type Policy, type Protection } from 'parley-forum/plugins/protection';
import type { Web } from 'parley-forum/plugins/web';
import type { UploadFiles } from './storage/file-storage.ts';
import { disposition, pathName } from './processing/file-names.ts';
import type { Upload, UploadStore } from './storage/upload-store.ts';

interface StoredFile {
  readonly upload: Upload;
  readonly path: string;
}
/** Without sessions: who has the address may have the file. */
const files = defineSurface<undefined, StoredFile>('uploads', { prefix: '/uploads' });

/** Whatever the file is, it runs nothing, loads nothing and has no access to the site. */
const FILE_POLICY: Policy = { ...DATA_POLICY, sandbox: [] };
/** A file never changes under its address. */
/**
 * The bytes of an address never change, but they may be deleted: caches that others share ask again after five minutes,
 * browsers after a day.
 */
const KEPT = 'public, max-age=86400, s-maxage=300, immutable';

interface SurfaceParts {
  readonly http: Http;
  readonly protection: Protection;
  readonly log: Logger;
  /** Shows people what went wrong. */
  readonly web: Pick<Web, 'sendErrorPage'> | undefined;
}

class FileSurface implements SurfaceBehaviour<undefined, StoredFile> {
  readonly #parts: SurfaceParts;

  constructor(parts: SurfaceParts) {
    this.#parts = parts;
  }

  authenticate(): undefined {
    return undefined;
  }

  async respond(
    { req, res }: RequestContext<undefined>,
    { upload: { id, name, type, size }, path }: StoredFile,
  ): Promise<void> {
    const shown = type.startsWith('image/');
    const etag = `"${id}"`;
    this.#head(req, res, FILE_POLICY, {
      'Content-Type': type === 'text/plain' || type === 'text/csv' ? `${type}; charset=utf-8` : type,
      'Content-Disposition': disposition(shown ? 'inline' : 'attachment', name),
      'Cache-Control': KEPT,
      ETag: etag,
      // Feed readers and previews of links show pictures on pages of their own.
      ...(shown && { 'Cross-Origin-Resource-Policy': 'cross-origin' }),
    });
    if (isFresh(req, `W/${etag}`) || req.headers['if-none-match'] === etag) return void res.status(304).end();
    res.setHeader('Content-Length', size);
    if (req.method === 'HEAD') return void res.end();
    await pipeline(createReadStream(path), res);
  }

  async fail({ req, res }: RequestContext<undefined>, error: unknown): Promise<void> {
    const { http, log, web } = this.#parts;
    if (res.headersSent) return void res.destroy();
    const requestId = http.idOf(req);
    const { status, message, code, headers } =
      presentable(error) ?? new HttpError(500, 'Something went wrong on the server');
    if (status >= 500) log.error({ error, request: requestId, path: req.path }, 'a file could not be sent');
    for (const name of ['Content-Disposition', 'Content-Length', 'ETag', 'Cross-Origin-Resource-Policy'])
      res.removeHeader(name);
    if (await web?.sendErrorPage(req, res, error)) return;
    this.#head(req, res, DATA_POLICY, { 'Cache-Control': 'no-store', ...headers });
    res.status(status).json({ success: false, error: message, code, request_id: requestId });
  }

  #head(req: Request, res: Response, policy: Policy, headers: Readonly<Record<string, string>>): void {
    const { http, protection } = this.#parts;
    for (const [name, value] of protection.headers(policy)) res.setHeader(name, value);
    res.set({ ...headers, 'X-Request-Id': http.idOf(req) });
  }
}

interface ServingParts extends SurfaceParts {
  readonly store: UploadStore;
  readonly files: UploadFiles;
}

/** /uploads/{id}/{name}. */
export function serveFiles(plugin: PluginHandle, { store, files: disk, ...parts }: ServingParts): void {
  plugin.surface(files, new FileSurface(parts));
  plugin.route(files, { method: 'get', path: '/:id/:name', can: 'public', summary: 'A file that a member uploaded' })(
    async ({ params }) => {
      const upload = await store.find(params['id'] ?? '');
      // An address with another name could say anything about what it leads to.
      if (!upload || params['name'] !== pathName(upload.name)) throw notFound('There is no such file');
      const path = disk.pathOf(upload.id);
      if (!(await stat(path).catch(() => undefined))) throw notFound('There is no such file');
      return { upload, path };
    },
  );
}
