import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { App } from '../app.ts';
import { defineCommand } from '../command.ts';
import { ConfigurationError } from '../../errors.ts';
import { Type } from '../../schema.ts';
import { secret } from '../../settings.ts';
import { sealedStores } from '../../secrets.ts';
import { KEY_FILE, NEXT_KEY_FILE } from '../keys.ts';
import { Program } from '../program.ts';

/** Seals everything anew with a new root key. Whenever it breaks off, what is stored can be opened with one of the two keys kept. */
export const secretRotate = defineCommand({
  name: 'secret rotate',
  summary: 'Makes a new root key and seals every stored secret with it.',
  options: Type.Object({}),
  needs: { app: Program },
  async run({ app }, _options, console) {
    const { dataDir, secretKey } = app.environment;
    if (secretKey !== undefined) {
      throw new ConfigurationError(`The root key comes from SECRET_KEY. Stop all servers, write it to ${join(dataDir, KEY_FILE)}, unset SECRET_KEY, run this again, and set SECRET_KEY to what the file holds then`);
    }
    const [kept, next] = [join(dataDir, KEY_FILE), join(dataDir, NEXT_KEY_FILE)];
    // One that is there was left by a rotation that broke off: it goes on with that key, for some things may be sealed with it.
    await writeFile(next, randomBytes(32).toString('hex'), { flag: 'wx', mode: 0o600, flush: true }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    const [old, fresh] = await Promise.all([kept, next].map(async (file) => (await readFile(file, 'utf8')).trim()));
    app.secrets.replace(fresh!);
    try {
      await reseal(app);
    } catch (error) {
      app.secrets.replace(old!);
      await app.settings.load();
      throw error;
    }
    await rename(next, kept);
    console.print('There is a new root key. Other processes of this site must be started anew; links and forms made before no longer count.');
  },
});

async function reseal({ data, extensions, secrets, settings }: App): Promise<void> {
  const again = (sealed: string): string => secrets.seal(secrets.open(sealed));
  await data.transaction(async () => {
    const sealed = settings.list().filter(({ schema, stored }) => stored && secret(schema));
    await settings.set(Object.fromEntries(sealed.map(({ key }) => [key, settings.get(key)])));
    for (const { value: store } of extensions.read(sealedStores)) await store.reseal(again);
  });
}
