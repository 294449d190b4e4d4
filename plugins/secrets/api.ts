import { defineAction, defineToken } from 'parley-forum';

/** The root key behind the kernel's `Secrets`. */
export interface RootKey {
  /**
   * Makes a new one and seals every stored secret with it. Throws `ConfigurationError` where the key comes from
   * SECRET_KEY and, without `force`, while a plugin that may have sealed something does not run: it could not open that
   * any more.
   */
  rotate(options?: { readonly force?: boolean | undefined }): Promise<void>;
}
export const RootKey = defineToken<RootKey>('RootKey');

/** The root key was rotated, at a shell on the server. */
export const rootKeyRotated = defineAction<object>('secrets.root-key-rotated');
