import { sql, type Data, type Environment, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { uploadDeleted, type UploadRecord } from 'parley-forum/plugins/uploads';
import { pathName } from './processing/file-names.ts';
import type { Prepared } from './processing/upload-processor.ts';
import type { Upload, UploadStore } from './storage/upload-store.ts';

interface UploadsParts {
  readonly data: Data;
  readonly environment: Environment;
  readonly accounts: Pick<Accounts, 'find' | 'setAvatar'>;
  readonly store: UploadStore;
  readonly plugin: PluginHandle;
}

/** The address of an upload on this site. The id cannot be guessed; the name is for people. */
export const pathOf = ({ id, name }: Pick<Upload, 'id' | 'name'>): string =>
  `/uploads/${id}/${encodeURIComponent(pathName(name))}`;

/** What members do with files and with their pictures. Who may is checked by whoever calls. */
export class Uploads {
  readonly #parts: UploadsParts;

  constructor(parts: UploadsParts) {
    this.#parts = parts;
  }

  /** 409 where it would be more than the member may have. */
  add(accountId: string, prepared: Prepared): Promise<Upload> {
    return this.#parts.store.add(accountId, 'post', prepared);
  }

  record({ id, name, type, size, width, height, createdAt }: Upload): UploadRecord {
    return {
      id,
      url: this.#parts.environment.baseUrl + pathOf({ id, name }),
      name,
      type,
      size,
      width,
      height,
      created_at: createdAt.toISOString(),
    };
  }

  /** From the next request on it is gone, and with an avatar the picture of its member. */
  async delete(upload: Upload, by: Viewer): Promise<void> {
    const { plugin, store } = this.#parts;
    const { id, type, purpose, accountId } = upload;
    await store.remove(upload, async () => {
      if (purpose === 'avatar') await this.#forget(upload);
      await plugin.emit(uploadDeleted, { upload: { id, owner_id: accountId, type, purpose }, by: by.id ?? '' });
    });
  }

  /** The member's picture from now on; the one before is removed. */
  async setAvatar(accountId: string, prepared: Prepared): Promise<void> {
    const { data, accounts, store } = this.#parts;
    const { id } = await data.transaction(async () => {
      const made = await store.add(accountId, 'avatar', prepared);
      await accounts.setAvatar(accountId, pathOf(made));
      return made;
    });
    await store.removeWhere(sql`account_id = ${accountId} and purpose = 'avatar' and id < ${id}::uuid`);
  }

  async removeAvatar(accountId: string): Promise<void> {
    await this.#parts.accounts.setAvatar(accountId, undefined);
    await this.#parts.store.removeWhere(sql`account_id = ${accountId} and purpose = 'avatar'`);
  }

  /** Their picture counts as one of their files. */
  async removeAll(accountId: string): Promise<void> {
    if (await this.#parts.accounts.find(accountId)) await this.#parts.accounts.setAvatar(accountId, undefined);
    await this.#parts.store.removeWhere(sql`account_id = ${accountId}`);
  }

  async #forget(avatar: Upload): Promise<void> {
    const { accounts } = this.#parts;
    if ((await accounts.find(avatar.accountId))?.avatarUrl === pathOf(avatar))
      await accounts.setAvatar(avatar.accountId, undefined);
  }
}
