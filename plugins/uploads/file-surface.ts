import { create as createDisposition } from 'content-disposition';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import {
  defineSurface,
  type HttpError,
  isFresh,
  notFound,
  type AnonymousContext,
  type Exchange,
  type Http,
  type PluginHandle,
  type Request,
  type Response,
  type SurfaceBehaviour,
} from 'parley-forum';
import { DATA_POLICY, type Policy, type Protection } from 'parley-forum/plugins/protection';
import type { Web } from 'parley-forum/plugins/web';
import type { FileStorage } from './storage/file-storage.ts';
import { copyName, urlFileName } from './processing/file-names.ts';
import type { UploadStore } from './storage/upload-store.ts';

interface StoredFile {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly path: string;
}
/** Without sessions: everyone who knows the URL may fetch the file. */
const files = defineSurface<AnonymousContext, StoredFile>('uploads', { prefix: '/uploads' });

/** A file may neither run or load anything nor access the site. */
const FILE_POLICY: Policy = { ...DATA_POLICY, sandbox: [] };
/**
 * The content of a URL never changes, but it may be deleted: shared caches revalidate after five minutes, browsers
 * after a day.
 */
const CACHE_CONTROL = 'public, max-age=86400, s-maxage=300, immutable';

interface FileSurfaceDeps {
  readonly http: Http;
  readonly protection: Protection;
  /** Sends the error page. */
  readonly web: Pick<Web, 'sendErrorPage'> | undefined;
}

class FileSurface implements SurfaceBehaviour<AnonymousContext, StoredFile> {
  readonly #deps: FileSurfaceDeps;

  constructor(deps: FileSurfaceDeps) {
    this.#deps = deps;
  }

  authenticate(): AnonymousContext {
    return { actor: undefined };
  }

  async respond({ req, res }: Exchange, { id, name, type, size, path }: StoredFile): Promise<void> {
    const shown = type.startsWith('image/');
    const etag = `"${id}"`;
    this.#setHeaders(req, res, FILE_POLICY, {
      'Content-Type': type === 'text/plain' || type === 'text/csv' ? `${type}; charset=utf-8` : type,
      'Content-Disposition': createDisposition(name, { type: shown ? 'inline' : 'attachment' }),
      'Cache-Control': CACHE_CONTROL,
      ETag: etag,
      // Feed readers and link previews show pictures on pages of other origins.
      ...(shown && { 'Cross-Origin-Resource-Policy': 'cross-origin' }),
    });
    if (isFresh(req, etag)) return void res.status(304).end();
    res.setHeader('Content-Length', size);
    if (req.method === 'HEAD') return void res.end();
    await pipeline(createReadStream(path), res);
  }

  async fail({ req, res }: Exchange, failure: HttpError): Promise<void> {
    const { http, web } = this.#deps;
    if (res.headersSent) return void res.destroy();
    for (const name of ['Content-Disposition', 'Content-Length', 'ETag', 'Cross-Origin-Resource-Policy'])
      res.removeHeader(name);
    if (await web?.sendErrorPage(req, res, failure)) return;
    const { status, message, code, headers } = failure;
    this.#setHeaders(req, res, DATA_POLICY, { 'Cache-Control': 'no-store', ...headers });
    res.status(status).json({ success: false, error: message, code, request_id: http.requestId(req) });
  }

  #setHeaders(req: Request, res: Response, policy: Policy, headers: Readonly<Record<string, string>>): void {
    const { http, protection } = this.#deps;
    for (const [name, value] of protection.headers(policy)) res.setHeader(name, value);
    res.set({ ...headers, 'X-Request-Id': http.requestId(req) });
  }
}

interface ServeFilesDeps extends FileSurfaceDeps {
  readonly store: UploadStore;
  readonly files: FileStorage;
}

/** /uploads/{id}/{name}, and /uploads/{id}/{width}/{name} for smaller copies of pictures. */
export function serveFiles(plugin: PluginHandle, { store, files: disk, ...deps }: ServeFilesDeps): void {
  plugin.surface(files, new FileSurface(deps));
  const found = async (file: Omit<StoredFile, 'size'>): Promise<StoredFile> => {
    const size = (await stat(file.path).catch(() => undefined))?.size;
    if (size === undefined) throw notFound('There is no such file');
    return { ...file, size };
  };
  plugin.route(files, { method: 'get', path: '/:id/:name', can: 'public', summary: 'A file that a member uploaded' })(
    async ({ params }) => {
      const upload = await store.find(params['id'] ?? '');
      // With an arbitrary name, the URL could claim anything about the file.
      if (!upload || params['name'] !== urlFileName(upload.name)) throw notFound('There is no such file');
      const { id, name, type } = upload;
      return found({ id, name, type, path: disk.pathOf(id) });
    },
  );
  plugin.route(files, {
    method: 'get',
    path: '/:id/:width/:name',
    can: 'public',
    summary: 'A smaller copy of a picture that a member uploaded',
  })(async ({ params }) => {
    const upload = await store.find(params['id'] ?? '');
    const width = upload?.widths.find((one) => String(one) === params['width']);
    const name = copyName(upload?.name ?? '');
    if (!upload || width === undefined || params['name'] !== urlFileName(name)) throw notFound('There is no such file');
    return found({ id: `${upload.id}.${width}`, name, type: 'image/webp', path: disk.pathOf(upload.id, width) });
  });
}
