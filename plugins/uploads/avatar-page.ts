import { profileSettingsEnd } from 'parley-forum/plugins/accounts';
import { uploadFiles } from 'parley-forum/plugins/uploads';
import {
  fill,
  formErrors,
  pages,
  phrase,
  redirect,
  slotFillings,
  view,
  type Retry,
  type View,
} from 'parley-forum/plugins/web';
import type { Viewer } from 'parley-forum/plugins/access';
import { FileForm, formOf, type PageDeps } from './files-page.ts';
import { extensionsOf, picturesOf } from './processing/formats.ts';
import { megabytes } from './processing/multipart-reader.ts';
import { consumeUpload } from './rate-limit.ts';

const AVATAR = '/settings/avatar';
const PROFILE = '/settings/profile';

/** A member's avatar: a panel in the profile settings, and a page of its own for refused forms. */
export function avatarPage({ plugin, access, accounts, limits, web, reader, processor, uploads }: PageDeps): void {
  const { settings } = plugin;

  const model = async ({ id }: Viewer, retry?: Retry): Promise<object> => {
    const account = id === undefined ? undefined : await accounts.find(id);
    const kinds = extensionsOf(picturesOf(settings['uploads.types']));
    return {
      user: account && { username: account.username, avatar_url: account.avatarUrl },
      accept: kinds.map((kind) => `.${kind}`).join(','),
      types: kinds.join(', '),
      size: megabytes(settings['uploads.max_size']),
      ...formErrors(retry),
    };
  };
  const page = async (viewer: Viewer, retry?: Retry): Promise<View> =>
    view(
      '@uploads/avatar',
      { name: 'settings', title: phrase('uploads:avatar.title'), noindex: true, current: PROFILE },
      { panel: await web.fragment(viewer, '@uploads/avatar-panel', await model(viewer, retry)), ...formErrors(retry) },
    );
  const options = { rerender: (retry: Retry) => page(retry.actor, retry) };

  plugin.extend(
    slotFillings,
    fill(profileSettingsEnd, async (contexts, viewer) => {
      if (!access.allows(viewer, uploadFiles)) return contexts.map(() => undefined);
      const panel = await web.fragment(viewer, '@uploads/avatar-panel', await model(viewer));
      return contexts.map(() => panel);
    }),
  );

  plugin.route(pages, { method: 'get', path: AVATAR, can: uploadFiles, options })(({ actor }) => page(actor));

  plugin.route(pages, {
    method: 'post',
    path: AVATAR,
    can: uploadFiles,
    options: { ...options, multipart: formOf(reader) },
    body: FileForm,
  })(async ({ actor, req, body }) => {
    await consumeUpload(limits, actor, settings['uploads.rate_limit']);
    await uploads.setAvatar(actor.id, await processor.avatar(req, body.part));
    return redirect(PROFILE, { notice: phrase('uploads:avatar.changed') });
  });

  plugin.route(pages, { method: 'post', path: `${AVATAR}/remove`, can: 'member', options })(async ({ actor }) => {
    await uploads.removeAvatar(actor.id);
    return redirect(PROFILE, { notice: phrase('uploads:avatar.removed') });
  });
}
