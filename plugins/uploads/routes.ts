import { Type, type PluginHandle, type Request, type Settings } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import { api, IdParams, limitOf, listOf, pageFields, Paging } from 'parley-forum/plugins/api';
import { manageUploads, uploadFiles, UploadRecord } from 'parley-forum/plugins/uploads';
import type { MultipartReader } from './processing/multipart-reader.ts';
import type { ProcessedFile, UploadProcessor } from './processing/upload-processor.ts';
import { UPLOAD_BUCKET } from './rate-limit.ts';
import type { UploadStore } from './storage/upload-store.ts';
import type { Uploads } from './uploads.ts';

export interface RouteDeps {
  readonly plugin: PluginHandle;
  readonly settings: Settings;
  readonly access: Access;
  readonly reader: MultipartReader;
  readonly processor: UploadProcessor;
  readonly store: UploadStore;
  readonly uploads: Uploads;
}
/** Identifies a repeated request; the file itself is on disk. */
interface FileFingerprint {
  readonly name: string;
  readonly sha256: string;
}
const UploadForm = Type.Object({
  file: Type.Unsafe<FileFingerprint>({
    contentMediaType: 'application/octet-stream',
    description: 'The file, with its name',
  }),
});
const BUCKET = { ...UPLOAD_BUCKET, limit: 'uploads.rate_limit' };

/** /api/uploads. */
export function uploadRoutes({ plugin, settings, access, reader, processor, store, uploads }: RouteDeps): void {
  const processed = new WeakMap<Request, ProcessedFile>();
  /** Everything that takes long, before a transaction begins. */
  const multipart = async (req: Request): Promise<{ readonly file: FileFingerprint }> => {
    const { name, sha256 } = await reader.file(req);
    processed.set(req, await processor.upload(req));
    return { file: { name, sha256 } };
  };

  plugin.route(api, {
    method: 'post',
    path: '/uploads',
    can: uploadFiles,
    status: 201,
    summary: 'Upload a file; pictures are written anew without their metadata',
    options: { multipart, bucket: BUCKET },
    body: UploadForm,
    result: Type.Object({ upload: UploadRecord }),
  })(async ({ actor, req }) => ({ upload: uploads.toRecord(await uploads.add(actor.id!, processed.get(req)!)) }));

  plugin.route(api, {
    method: 'get',
    path: '/uploads',
    can: 'member',
    summary: 'The caller’s own uploads, the newest first',
    query: Type.Object({ ...Paging }),
    result: listOf('uploads', UploadRecord),
  })(async ({ actor, query: { limit, ...query } }) => {
    const page = await store.list(actor.id!, { ...query, limit: limitOf(settings, limit) });
    return { uploads: page.items.map((upload) => uploads.toRecord(upload)), ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'delete',
    path: '/uploads/:id',
    can: uploadFiles,
    summary: 'Delete one’s own upload, or as a moderator anybody’s',
    params: IdParams,
    result: Type.Object({}),
    load: ({ params }) => store.find(params.id),
    authorize: ({ actor, target }) => target.accountId === actor.id || access.allows(actor, manageUploads),
  })(async ({ actor, target }) => {
    await uploads.delete(target, actor);
    return {};
  });
}
