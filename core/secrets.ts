import { defineExtensionPoint, defineToken } from './ref.ts';

/** What depends on the root secret. A plugin provides it; secret settings cannot be read or set while it is off. */
export interface Secrets {
  /** Encrypts for storage, with a fresh nonce each time. */
  seal(text: string): string;
  /** Throws `ConfigurationError` when it was sealed with another key, or changed. */
  open(sealed: string): string;
  /** Base64url. Equal texts under different purposes have unrelated signatures. */
  sign(purpose: string, text: string): string;
  /** In constant time. */
  verify(purpose: string, text: string, signature: string): boolean;
}
export const Secrets = defineToken<Secrets>('Secrets');

/** A plugin that keeps sealed text in tables of its own adds itself here, so that a new root secret reaches it. */
export interface SealedStore {
  /** Puts `seal(sealed)` in the place of each sealed text. Runs inside the rotation's transaction. */
  reseal(seal: (sealed: string) => string): Promise<void>;
}
/** All stores of sealed text, for the rotation of the root secret. */
export const sealedStores = defineExtensionPoint<SealedStore>(
  'secrets.stores',
  'Plugins that store sealed text in tables of their own, so that a new root secret reaches it.',
);
