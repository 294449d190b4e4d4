import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, randomBytes, timingSafeEqual, type KeyObject } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigurationError } from './errors.ts';
import { defineToken } from './ref.ts';

/** What depends on the root secret, SECRET_KEY. Each purpose has a key of its own (HKDF-SHA256). */
export interface Secrets {
  /** Encrypts for storage: AES-256-GCM, a fresh nonce each time. */
  seal(text: string): string;
  /** Throws `ConfigurationError` when it was sealed with another key, or changed. */
  open(sealed: string): string;
  /** HMAC-SHA256 as base64url. Equal texts under different purposes have unrelated signatures. */
  sign(purpose: string, text: string): string;
  /** In constant time. */
  verify(purpose: string, text: string, signature: string): boolean;
}
export const Secrets = defineToken<Secrets>('Secrets');

const VERSION = 'v1';
const FILE = 'secret.key';

/** From SECRET_KEY, or from a key made once and kept under DATA_DIR, readable by its owner only. */
export async function loadSecrets({ key, folder }: { readonly key?: string; readonly folder: string }): Promise<Secrets> {
  return createSecrets(key ?? (await keptKey(folder)));
}

export function createSecrets(root: string): Secrets {
  const keys = new Map<string, KeyObject>();
  const keyOf = (purpose: string): KeyObject => {
    let key = keys.get(purpose);
    if (!key) keys.set(purpose, (key = createSecretKey(Buffer.from(hkdfSync('sha256', root, 'parley', purpose, 32)))));
    return key;
  };
  const sign = (purpose: string, text: string): string => createHmac('sha256', keyOf(purpose)).update(text).digest('base64url');
  return {
    sign,
    verify(purpose, text, signature) {
      const [expected, given] = [Buffer.from(sign(purpose, text)), Buffer.from(signature)];
      return expected.length === given.length && timingSafeEqual(expected, given);
    },
    seal(text) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', keyOf('seal'), nonce);
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return `${VERSION}.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')}`;
    },
    open(sealed) {
      try {
        const [version, packed = ''] = sealed.split('.');
        const bytes = Buffer.from(packed, 'base64url');
        const decipher = createDecipheriv('aes-256-gcm', keyOf('seal'), bytes.subarray(0, 12)).setAuthTag(bytes.subarray(12, 28));
        if (version === VERSION) return decipher.update(bytes.subarray(28), undefined, 'utf8') + decipher.final('utf8');
      } catch {
        // Told below: what cannot be opened was sealed with another key.
      }
      throw new ConfigurationError('A stored secret cannot be opened: SECRET_KEY is not the one it was sealed with. Restore the old key.');
    },
  };
}

async function keptKey(folder: string): Promise<string> {
  const file = join(folder, FILE);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // `wx`: of several processes that start at once, one writes and all read the same key.
  await writeFile(file, randomBytes(32).toString('hex'), { flag: 'wx', mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  return (await readFile(file, 'utf8')).trim();
}
