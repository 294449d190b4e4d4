import { defineToken } from '#core';

/** The root key behind the kernel's `Secrets`. */
export interface RootKey {
  /** Makes a new one and seals every stored secret with it. Throws `ConfigurationError` where the key comes from SECRET_KEY. */
  rotate(): Promise<void>;
}
export const RootKey = defineToken<RootKey>('RootKey');
