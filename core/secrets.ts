import { defineExtensionPoint, defineToken } from './ref.ts';

/**
 * Cryptography based on the root secret. A plugin provides it; while it is off, secret settings cannot be read or set.
 */
export interface Secrets {
  /** Encrypts for storage, with a fresh nonce each time. */
  seal(text: string): string;
  /** Throws `ConfigurationError` if the text was sealed with another key or has been altered. */
  open(sealed: string): string;
  /** Returns a base64url signature. The same text has unrelated signatures for different purposes. */
  sign(purpose: string, text: string): string;
  /** Compares in constant time. */
  verify(purpose: string, text: string, signature: string): boolean;
}
export const Secrets = defineToken<Secrets>('Secrets');

/**
 * An extension for plugins that store sealed text in their own tables, so that it is re-encrypted when the root secret
 * is rotated.
 */
export interface SealedStore {
  /** Replaces each sealed text with `seal(sealed)`. Runs inside the rotation's transaction. */
  reseal(seal: (sealed: string) => string): Promise<void>;
}
/** All stores of sealed text, used when the root secret is rotated. */
export const sealedStores = defineExtensionPoint<SealedStore>(
  'secrets.stores',
  'Plugins that store encrypted text in their own tables, so that it is re-encrypted when the root secret is rotated.',
);
