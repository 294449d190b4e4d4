import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigurationError } from 'parley-forum';
import { createKeyring, type Keyring } from './keyring.ts';

/** File in DATA_DIR. */
export const KEY_FILE = 'secret.key';
/**
 * Exists beside it during a rotation. After an interrupted rotation, stored secrets may have been sealed with either
 * key.
 */
export const NEXT_KEY_FILE = 'secret.key.next';
/** Minimum length of a root secret in characters: 128 bits in hexadecimal digits. */
const MIN_LENGTH = 32;

/**
 * `key` is SECRET_KEY; without it a key is generated once and stored in `folder`, which is DATA_DIR. Throws
 * `ConfigurationError` for a key that is too short to be a secret.
 */
export async function loadKeyring(key: string | undefined, folder: string): Promise<Keyring> {
  const current = key ?? (await storedKey(folder));
  if (current.length < MIN_LENGTH) {
    const where = key === undefined ? join(folder, KEY_FILE) : 'SECRET_KEY';
    throw new ConfigurationError(
      `${where} has fewer than ${MIN_LENGTH} characters; generate a new one with: openssl rand -base64 32`,
    );
  }
  return createKeyring(current, key === undefined ? await nextKey(folder) : undefined);
}

async function storedKey(folder: string): Promise<string> {
  const file = join(folder, KEY_FILE);
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  const read = (): Promise<string> => readFile(file, 'utf8').then((text) => text.trim());
  const missing = (error: NodeJS.ErrnoException): undefined => {
    if (error.code !== 'ENOENT') throw error;
  };
  const stored = await read().catch(missing);
  if (stored !== undefined) return stored;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(draft, randomBytes(32).toString('hex'), { flag: 'wx', mode: 0o600, flush: true });
  // Linking is atomic and never replaces a file: if several processes start at once, all of them read the same complete
  // key.
  await link(draft, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await unlink(draft);
  return read();
}

async function nextKey(folder: string): Promise<string | undefined> {
  return (await readFile(join(folder, NEXT_KEY_FILE), 'utf8').catch(() => '')).trim() || undefined;
}
