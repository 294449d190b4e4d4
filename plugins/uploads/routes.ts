import { Type, type PluginHandle, type Request, type Settings } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import { api, IdParams, limitOf, listOf, pageFields, Paging } from 'parley-forum/plugins/api';
import { manageUploads, uploadFiles, UploadRecord } from 'parley-forum/plugins/uploads';
import type { Intake } from './processing/multipart-reader.ts';
import type { Prepared, Preparing } from './processing/upload-processor.ts';
import { UPLOADS } from './rate-limit.ts';
import type { UploadStore } from './storage/upload-store.ts';
import type { Uploads } from './uploads.ts';

export interface RouteServices {
  readonly plugin: PluginHandle;
  readonly settings: Settings;
  readonly access: Access;
  readonly intake: Intake;
  readonly preparing: Preparing;
  readonly store: UploadStore;
  readonly uploads: Uploads;
}
/** What a repetition of the request is recognised by; the file itself waits on the disk. */
interface SentFile {
  readonly name: string;
  readonly sha256: string;
}
const UploadForm = Type.Object({
  file: Type.Unsafe<SentFile>({ contentMediaType: 'application/octet-stream', description: 'The file, with its name' }),
});
const BUCKET = { ...UPLOADS, limit: 'uploads.rate_limit' };

/** /api/uploads. */
export function uploadRoutes({ plugin, settings, access, intake, preparing, store, uploads }: RouteServices): void {
  const prepared = new WeakMap<Request, Prepared>();
  /** Everything that takes long, before a transaction begins. */
  const multipart = async (req: Request): Promise<{ readonly file: SentFile }> => {
    const { name, sha256 } = await intake.file(req);
    prepared.set(req, await preparing.upload(req));
    return { file: { name, sha256 } };
  };

  plugin.route(api, {
    method: 'post',
    path: '/uploads',
    can: uploadFiles,
    status: 201,
    summary: 'Upload a file; pictures are written anew without their metadata',
    options: { login: true, multipart, bucket: BUCKET },
    body: UploadForm,
    result: Type.Object({ upload: UploadRecord }),
  })(async ({ actor, req }) => ({ upload: uploads.record(await uploads.add(actor.id!, prepared.get(req)!)) }));

  plugin.route(api, {
    method: 'get',
    path: '/uploads',
    can: 'public',
    summary: 'The caller’s own uploads, the newest first',
    options: { login: true },
    query: Type.Object({ ...Paging }),
    result: listOf('uploads', UploadRecord),
  })(async ({ actor, query: { limit, ...query } }) => {
    const page = await store.list(actor.id!, { ...query, limit: limitOf(settings, limit) });
    return { uploads: page.items.map((upload) => uploads.record(upload)), ...pageFields(page) };
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
