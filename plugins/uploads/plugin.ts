import { join } from 'node:path';
import { Cache, Clock, counters, Data, definePlugin, Environment, Http, Settings, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { Discussions, postProjections } from 'parley-forum/plugins/discussions';
import { Limits } from 'parley-forum/plugins/limits';
import { markdownHtml } from 'parley-forum/plugins/markdown';
import { personalData } from 'parley-forum/ports/personal-data';
import { fileTexts, Thumbnails } from 'parley-forum/ports/pictures';
import { Protection } from 'parley-forum/plugins/protection';
import { manageUploads, uploadDeleted, uploadFiles } from 'parley-forum/plugins/uploads';
import { Web } from 'parley-forum/plugins/web';
import { avatarPage } from './avatar-page.ts';
import { FileStorage } from './storage/file-storage.ts';
import { filesPage } from './files-page.ts';
import { MultipartReader } from './processing/multipart-reader.ts';
import { uploadsData } from './personal-data.ts';
import { Pictures } from './processing/pictures.ts';
import { UploadProcessor } from './processing/upload-processor.ts';
import { usageCounter } from './storage/usage-counter.ts';
import { UploadReferences } from './storage/references.ts';
import { uploadRoutes } from './routes.ts';
import { uploadSettings } from './settings.ts';
import { showPictures } from './shown-pictures.ts';
import { UploadStore } from './storage/upload-store.ts';
import { pictureViewer } from './picture-viewer.ts';
import { serveFiles } from './file-surface.ts';
import { UploadCleanup } from './storage/cleanup.ts';
import { Uploads } from './uploads.ts';

export default definePlugin({
  id: 'uploads',
  name: 'Uploads',
  version: '1.0.0',
  description: 'Pictures and files in posts, and profile pictures.',
  needs: {
    data: Data,
    cache: Cache,
    clock: Clock,
    http: Http,
    environment: Environment,
    settings: Settings,
    access: Access,
    accounts: Accounts,
    discussions: Discussions,
    limits: Limits,
    protection: Protection,
  },
  wants: { web: Web },
  provides: { thumbnails: Thumbnails },
  hooks: [uploadDeleted],
  extensionPoints: [fileTexts],
  permissions: [uploadFiles, manageUploads],
  settings: uploadSettings,
  async setup(
    { data, cache, clock, http, environment, settings, access, accounts, discussions, limits, protection, web },
    plugin,
  ) {
    const { settings: own, log } = plugin;
    const files = new FileStorage(join(environment.dataDir, 'uploads'));
    const quota = () => ({ files: own['uploads.member_files'], bytes: own['uploads.member_bytes'] });
    const store = new UploadStore({ data, cache, clock, files, quota });
    const uploads = new Uploads({ data, environment, accounts, store, plugin });
    plugin.extend(personalData, uploadsData({ data, files, uploads }));
    plugin.extend(counters, usageCounter({ data, clock }));
    const reader = new MultipartReader({ folder: files.incoming, maxSize: () => own['uploads.max_size'] });
    const pictures = new Pictures({ maxPixels: () => own['uploads.max_pixels'], log });
    const processor = new UploadProcessor({ reader, pictures, types: () => own['uploads.types'] });

    plugin.on(markdownHtml, (html) => showPictures(html, store));
    const references = new UploadReferences({ data, clock });
    plugin.extend(postProjections, references);
    await plugin.backfill(discussions.postBackfill(references));
    const cleanup = new UploadCleanup({
      data,
      clock,
      accounts,
      store,
      files,
      unusedDays: () => own['uploads.unused_days'],
      texts: () => plugin.extensions(fileTexts).map(({ value }) => value),
    });
    plugin.job('tidy', {
      schema: Type.Object({}),
      cron: '23 4 * * *',
      run: (_none, { signal }) => cleanup.run(signal),
    });

    serveFiles(plugin, { http, protection, web, store, files });
    uploadRoutes({ plugin, settings, access, accounts, reader, processor, store, uploads });
    plugin.extend(
      auditRules,
      audited(uploadDeleted, ['upload.deleted'], ({ upload, by }) =>
        by === upload.owner_id
          ? undefined
          : {
              action: 'upload.deleted',
              actor: by,
              subject: { type: 'upload', id: upload.id },
              details: { owner: upload.owner_id, type: upload.type, purpose: upload.purpose },
            },
      ),
    );
    if (!web) return { thumbnails: pictures };
    const pages = { plugin, access, accounts, limits, web, reader, processor, store, uploads, quota };
    filesPage(pages);
    avatarPage(pages);
    pictureViewer(plugin, web);
    return { thumbnails: pictures };
  },
});
