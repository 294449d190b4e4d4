import { Type, type PluginHandle, type Request } from 'parley-forum';
import { isGuest, type Access, type Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { Id } from 'parley-forum/plugins/api';
import { composerFields } from 'parley-forum/plugins/discussions';
import type { Limits } from 'parley-forum/plugins/limits';
import { uploadFiles } from 'parley-forum/plugins/uploads';
import {
  composerTools,
  fill,
  formErrors,
  navigation,
  pagerOf,
  pages,
  phrase,
  redirect,
  slotFillings,
  view,
  type Retry,
  type View,
  type Web,
} from 'parley-forum/plugins/web';
import { extensionsOf } from './processing/formats.ts';
import { megabytes, type MultipartReader, type ReceivedPart } from './processing/multipart-reader.ts';
import type { UploadProcessor } from './processing/upload-processor.ts';
import type { UploadSettings } from './settings.ts';
import { consumeUpload } from './rate-limit.ts';
import type { Quota, Upload, UploadStore } from './storage/upload-store.ts';
import { uploadPath, type Uploads } from './uploads.ts';

export interface PageDeps {
  readonly plugin: PluginHandle<UploadSettings>;
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly limits: Limits;
  readonly web: Web;
  readonly reader: MultipartReader;
  readonly processor: UploadProcessor;
  readonly store: UploadStore;
  readonly uploads: Uploads;
  quota(): Quota;
}
const FILES = '/settings/uploads';
/** Rows per page. */
const PAGE = 50;
/** In the toolbar after the Markdown buttons, before the tools of other plugins. */
const TOOL_ORDER = -20;

export const FileForm = Type.Object({ part: Type.Unsafe<ReceivedPart>({}) });
/** Reads a page's form without judging its file: the handler does that, since it knows the sender. */
export const formOf = (reader: MultipartReader) => async (req: Request) => {
  const { fields, ...part } = await reader.form(req);
  return { ...fields, part };
};

/** The Markdown that shows a file in a text, or links to it. */
function markdownOf(upload: Upload): string {
  const name = upload.name.replace(/[\\[\]*_`<>]/g, '\\$&');
  return upload.type.startsWith('image/')
    ? `![${name.replace(/\.\w+$/, '')}](${uploadPath(upload)})`
    : `[${name}](${uploadPath(upload)})`;
}

/** /settings/uploads, and the ways to upload from writing fields. */
export function filesPage({ plugin, access, limits, web, reader, processor, store, uploads, quota }: PageDeps): void {
  const { settings } = plugin;
  const mayUpload = (viewer: Viewer): boolean => access.allows(viewer, uploadFiles);
  plugin.extend(navigation, { area: 'settings', label: 'uploads:title', href: FILES, visible: mayUpload });

  const limitsOf = () => ({
    accept: extensionsOf(settings['uploads.types'])
      .map((extension) => `.${extension}`)
      .join(','),
    types: extensionsOf(settings['uploads.types']).join(', '),
    most: settings['uploads.max_size'],
    size: megabytes(settings['uploads.max_size']),
    days: settings['uploads.unused_days'],
  });

  const files = async (
    { id }: Viewer,
    { page = 1, retry }: { readonly page?: number; readonly retry?: Retry } = {},
  ): Promise<View> => {
    // Rendered for a guest when a member's session ended in the meantime.
    const used = id === undefined ? { files: 0, bytes: 0 } : await store.used(id);
    const pager = pagerOf(page, Math.max(1, Math.ceil(used.files / PAGE)), FILES);
    const { items } =
      id === undefined ? { items: [] } : await store.list(id, { limit: PAGE, offset: (page - 1) * PAGE });
    const rows = items.map((upload) => ({
      ...upload,
      path: uploadPath(upload),
      picture: upload.type.startsWith('image/'),
      bytes: megabytes(upload.size),
      markdown: markdownOf(upload),
    }));
    const room = {
      used: used.files,
      bytes: megabytes(used.bytes),
      files: quota().files,
      together: megabytes(quota().bytes),
    };
    return view(
      '@uploads/files',
      { name: 'settings', title: phrase('uploads:title'), noindex: true },
      { rows, pager, room, limits: limitsOf(), ...formErrors(retry) },
    );
  };
  const options = { rerender: (retry: Retry) => files(retry.actor, { retry }) };

  plugin.route(pages, {
    method: 'get',
    path: FILES,
    can: 'member',
    options,
    query: Type.Object({ page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })) }),
  })(({ actor, query }) => files(actor, query.page === undefined ? {} : { page: query.page }));

  plugin.route(pages, {
    method: 'post',
    path: FILES,
    can: uploadFiles,
    options: { ...options, multipart: formOf(reader) },
    body: FileForm,
  })(async ({ actor, req, body }) => {
    await consumeUpload(limits, actor, settings['uploads.rate_limit']);
    const { name } = await uploads.add(actor.id, await processor.upload(req, body.part));
    return redirect(FILES, { notice: phrase('uploads:uploaded', { name }) });
  });

  plugin.route(pages, {
    method: 'post',
    path: `${FILES}/delete`,
    can: 'member',
    options,
    summary: 'Deletes a file, or the selected files.',
    body: Type.Object({ id: Type.Optional(Id), ids: Type.Optional(Type.Array(Id, { maxItems: 2 * PAGE })) }),
  })(async ({ actor, body: { id, ids = [] } }) => {
    const chosen = id === undefined ? ids : [id];
    let count = 0;
    for (const one of new Set(chosen)) {
      const upload = await store.find(one);
      // Moderators delete files of other members elsewhere.
      if (upload?.accountId !== actor.id || upload?.purpose !== 'post') continue;
      await uploads.delete(upload, actor);
      count++;
    }
    return chosen.length === 0
      ? redirect(FILES, { notice: phrase('uploads:none-chosen'), noticeKind: 'info' })
      : redirect(FILES, { notice: phrase('uploads:deleted', { count }) });
  });

  plugin.extend(
    slotFillings,
    fill(
      composerFields,
      async (contexts, viewer) => {
        if (isGuest(viewer) || !mayUpload(viewer)) return contexts.map(() => undefined);
        return Promise.all(
          contexts.map(async ({ writes, discussion }) => {
            // Editing a discussion's title and fields involves no text that files could be inserted into.
            if (writes === 'discussion' && discussion) return undefined;
            // Warn in private messages: anyone who knows a file's URL can open it.
            const warn = writes === 'message';
            return web.fragment(viewer, '@uploads/composer', { limits: limitsOf(), page: FILES, warn });
          }),
        );
      },
      { shared: true },
    ),
  );
  plugin.extend(
    slotFillings,
    fill(
      composerTools,
      async (places, viewer) => {
        if (isGuest(viewer) || !mayUpload(viewer)) return [];
        const tool = await web.fragment(viewer, '@uploads/button', {});
        return places.map(() => tool);
      },
      { shared: true },
    ),
    TOOL_ORDER,
  );
}
