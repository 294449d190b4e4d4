import { notFound, Type, type PluginHandle, type Request, type Settings, type Static } from 'parley-forum';
import type { Access, Member, Viewer } from 'parley-forum/plugins/access';
import type { Accounts, UserRecord } from 'parley-forum/plugins/accounts';
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
  readonly accounts: Accounts;
  readonly reader: MultipartReader;
  readonly processor: UploadProcessor;
  readonly store: UploadStore;
  readonly uploads: Uploads;
}
const UploadForm = Type.Object({
  file: Type.Unsafe<ProcessedFile>({
    contentMediaType: 'application/octet-stream',
    description: 'The file, with its name',
  }),
});
const BUCKET = { ...UPLOAD_BUCKET, limit: 'uploads.rate_limit' };

/** /api/uploads, and /api/users/{id}/avatar. */
export function uploadRoutes({
  plugin,
  settings,
  access,
  accounts,
  reader,
  processor,
  store,
  uploads,
}: RouteDeps): void {
  /** All slow work is done here, before the transaction starts. */
  const multipart = async (req: Request): Promise<Static<typeof UploadForm>> => ({
    file: await processor.upload(req, await reader.form(req)),
  });
  const fingerprint = ({ file: { name, sha256 } }: Static<typeof UploadForm>): unknown => [name, sha256];

  plugin.route(api, {
    method: 'post',
    path: '/uploads',
    can: uploadFiles,
    status: 201,
    summary: 'Upload a file; pictures are re-encoded without their metadata',
    options: { multipart, fingerprint, bucket: BUCKET, location: ({ upload }) => upload.url },
    body: UploadForm,
    result: Type.Object({ upload: UploadRecord }),
  })(async ({ actor, body }) => ({ upload: uploads.toRecord(await uploads.add(actor.id, body.file)) }));

  plugin.route(api, {
    method: 'get',
    path: '/uploads',
    can: 'member',
    summary: 'The caller’s own uploads, newest first',
    query: Type.Object({ ...Paging }),
    result: listOf('uploads', UploadRecord),
  })(async ({ actor, query: { limit, ...query } }) => {
    const page = await store.list(actor.id, { ...query, limit: limitOf(settings, limit) });
    return { uploads: page.items.map((upload) => uploads.toRecord(upload)), ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'delete',
    path: '/uploads/:id',
    can: uploadFiles,
    summary: 'Delete one of the caller’s own uploads, or as a moderator anyone’s',
    params: IdParams,
    result: Type.Object({}),
    load: ({ params }) => store.find(params.id),
    authorize: ({ actor, target }) => target.accountId === actor.id || access.allows(actor, manageUploads),
  })(async ({ actor, target }) => {
    await uploads.delete(target, actor);
    return {};
  });
  const avatar = {
    path: '/users/:id/avatar',
    params: IdParams,
    result: Type.Object({ user: accounts.record }),
    load: ({ params }: { readonly params: { readonly id: string } }) => accounts.find(params.id),
    authorize: ({ actor, target }: { readonly actor: Viewer; readonly target: { readonly id: string } }) =>
      target.id === actor.id,
  } as const;
  const changed = async (actor: Member): Promise<{ user: UserRecord }> => {
    const [user] = await accounts.records([actor.id], actor);
    if (!user) throw notFound();
    return { user };
  };

  plugin.route(api, {
    ...avatar,
    method: 'put',
    can: uploadFiles,
    summary: 'Replace the caller’s picture, which is cropped to a square',
    options: {
      multipart: async (req: Request) => ({ file: await processor.avatar(req, await reader.form(req)) }),
      fingerprint,
      bucket: BUCKET,
    },
    body: UploadForm,
  })(async ({ actor, body }) => {
    await uploads.setAvatar(actor.id, body.file);
    return changed(actor);
  });

  plugin.route(api, { ...avatar, method: 'delete', can: 'member', summary: 'Remove the caller’s picture' })(
    async ({ actor }) => {
      await uploads.removeAvatar(actor.id);
      return changed(actor);
    },
  );
}
