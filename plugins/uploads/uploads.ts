import { sql, type Data, type Environment, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { uploadDeleted, type UploadRecord } from 'parley-forum/plugins/uploads';
import { FILES_PATH, idsIn, SETTINGS } from './storage/file-texts.ts';
import { copyName, urlFileName } from './processing/file-names.ts';
import type { ProcessedFile } from './processing/upload-processor.ts';
import type { Upload, UploadStore } from './storage/upload-store.ts';

interface UploadsDeps {
  readonly data: Data;
  readonly environment: Environment;
  readonly accounts: Pick<Accounts, 'find' | 'setAvatar'>;
  readonly store: UploadStore;
  readonly plugin: PluginHandle;
}

/** The path of an upload on this site. The id cannot be guessed; the name is for people. */
export const uploadPath = ({ id, name }: Pick<Upload, 'id' | 'name'>): string =>
  `${FILES_PATH}${id}/${encodeURIComponent(urlFileName(name))}`;

/** The path of a smaller copy of a picture. */
export const copyPath = ({ id, name }: Pick<Upload, 'id' | 'name'>, width: number): string =>
  `${FILES_PATH}${id}/${width}/${encodeURIComponent(urlFileName(copyName(name)))}`;

/** Members' operations on files and avatars. Callers check permissions. */
export class Uploads {
  readonly #deps: UploadsDeps;

  constructor(deps: UploadsDeps) {
    this.#deps = deps;
  }

  /** Throws 409 if the member's quota would be exceeded. */
  add(accountId: string, processed: ProcessedFile): Promise<Upload> {
    return this.#deps.store.add(accountId, 'post', processed);
  }

  toRecord({ id, name, type, size, width, height, widths, createdAt }: Upload): UploadRecord {
    return {
      id,
      url: this.#deps.environment.baseUrl + uploadPath({ id, name }),
      name,
      type,
      size,
      width,
      height,
      copies: widths.map((one) => ({ url: this.#deps.environment.baseUrl + copyPath({ id, name }, one), width: one })),
      created_at: createdAt.toISOString(),
    };
  }

  /** Takes effect with the next request; deleting an avatar also unsets the member's picture. */
  async delete(upload: Upload, by: Viewer): Promise<void> {
    const { plugin, store } = this.#deps;
    const { id, type, purpose, accountId } = upload;
    await store.exclusively(accountId, () =>
      store.remove(upload, async () => {
        if (purpose === 'avatar') await this.#unsetAvatar(upload);
        await plugin.emit(uploadDeleted, { upload: { id, owner_id: accountId, type, purpose }, by: by.id ?? '' });
      }),
    );
  }

  /** Replaces the member's avatar and removes the previous one. */
  async setAvatar(accountId: string, processed: ProcessedFile): Promise<void> {
    const { data, accounts, store } = this.#deps;
    const { id } = await data.transaction(async () => {
      const added = await store.add(accountId, 'avatar', processed);
      await accounts.setAvatar(accountId, uploadPath(added));
      return added;
    });
    await store.removeWhere(sql`account_id = ${accountId} and purpose = 'avatar' and id < ${id}::uuid`);
  }

  async removeAvatar(accountId: string): Promise<void> {
    const { accounts, store } = this.#deps;
    await store.exclusively(accountId, async () => {
      await accounts.setAvatar(accountId, undefined);
      await store.removeWhere(sql`account_id = ${accountId} and purpose = 'avatar'`);
    });
  }

  /**
   * Removes all files of a member, including the avatar. Files that the site's settings use, such as its icon, belong
   * to the site and stay.
   */
  async removeAll(accountId: string): Promise<void> {
    const { data, accounts, store } = this.#deps;
    await store.exclusively(accountId, async () => {
      if (await accounts.find(accountId)) await accounts.setAvatar(accountId, undefined);
      const own = await data.all(
        sql<{ id: string }>`select id from upload where account_id = ${accountId} and purpose = 'post' order by id`,
      );
      const kept = await idsIn(
        data,
        [SETTINGS],
        own.map(({ id }) => id),
      );
      await store.removeWhere(sql`account_id = ${accountId} and id <> all(${kept}::uuid[])`);
    });
  }

  async #unsetAvatar(avatar: Upload): Promise<void> {
    const { accounts } = this.#deps;
    if ((await accounts.find(avatar.accountId))?.avatarUrl === uploadPath(avatar))
      await accounts.setAvatar(avatar.accountId, undefined);
  }
}
