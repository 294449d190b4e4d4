import { defineAction, defineToken } from 'parley-forum';

/** The root key behind the kernel's `Secrets`. */
export interface RootKey {
  /**
   * Generates a new root key and reseals every stored secret with it. Throws `ConfigurationError` if the key comes from
   * SECRET_KEY and, without `force`, while a plugin that may have sealed something is not running: it could no longer
   * open that.
   */
  rotate(options?: { readonly force?: boolean | undefined }): Promise<void>;
}
export const RootKey = defineToken<RootKey>('RootKey');

/** The root key was rotated from a shell on the server. */
export const rootKeyRotated = defineAction<object>('secrets.root-key-rotated');
