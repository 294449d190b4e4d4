import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ConfigurationError,
  type Data,
  type Environment,
  type Extension,
  type SealedStore,
  type Settings,
} from 'parley-forum';
import type { Keyring } from './keyring.ts';
import { KEY_FILE, NEXT_KEY_FILE } from './root-key.ts';

export interface RotationDeps {
  readonly keyring: Keyring;
  readonly data: Data;
  readonly settings: Settings;
  readonly environment: Environment;
  stores(): readonly Extension<SealedStore>[];
  /** Called in the transaction that reseals the secrets. */
  rotated(): Promise<void>;
}

/**
 * Reseals everything with a new root key. Wherever it is interrupted, stored secrets can be opened with one of the two
 * stored keys.
 */
export async function rotate({ keyring, environment: { dataDir, secretKey }, ...deps }: RotationDeps): Promise<void> {
  if (secretKey !== undefined) {
    throw new ConfigurationError(
      `The root key comes from SECRET_KEY. Stop all servers, write it to ${join(dataDir, KEY_FILE)}, unset SECRET_KEY, run this command again, and then set SECRET_KEY to the contents of the file`,
    );
  }
  const [stored, next] = [join(dataDir, KEY_FILE), join(dataDir, NEXT_KEY_FILE)];
  // An existing file was left by an interrupted rotation, which is continued with its key, as some secrets may already
  // be sealed with it.
  await writeFile(next, randomBytes(32).toString('hex'), { flag: 'wx', mode: 0o600, flush: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    },
  );
  const [old, fresh] = await Promise.all([stored, next].map(async (file) => (await readFile(file, 'utf8')).trim()));
  keyring.replace(fresh!);
  try {
    await reseal(keyring, deps);
  } catch (error) {
    keyring.replace(old!);
    throw error;
  }
  await rename(next, stored);
}

async function reseal(
  keyring: Keyring,
  { data, settings, stores, rotated }: Pick<RotationDeps, 'data' | 'settings' | 'stores' | 'rotated'>,
): Promise<void> {
  await data.transaction(async () => {
    const sealed = settings.list().filter(({ secret, stored }) => stored && secret);
    await settings.set(Object.fromEntries(sealed.map(({ key }) => [key, settings.get(key)])));
    for (const { value: store } of stores()) await store.reseal((text) => keyring.seal(keyring.open(text)));
    await rotated();
  });
}
