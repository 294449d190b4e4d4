import { Data, defineCommand, definePlugin, Environment, sealedStores, Secrets, Settings, Type } from '#core';
import { RootKey } from '#plugins/secrets';
import { loadKeyring } from './root-key.ts';
import { rotate } from './rotation.ts';

const secretRotate = defineCommand({
  name: 'secret rotate',
  summary: 'Makes a new root key and seals every stored secret with it.',
  options: Type.Object({}),
  needs: { rootKey: RootKey },
  async run({ rootKey }, _options, console) {
    await rootKey.rotate();
    console.print('There is a new root key. Other processes of this site must be started anew; links and forms made before no longer count.');
  },
});

export default definePlugin({
  id: 'secrets',
  name: 'Secrets',
  version: '1.0.0',
  description: 'Seals what must not be read in the database, and signs what visitors bring back.',
  needs: { data: Data, environment: Environment, settings: Settings },
  provides: { secrets: Secrets, rootKey: RootKey },
  extensionPoints: [sealedStores],
  commands: [secretRotate],

  async setup({ data, environment, settings }, plugin) {
    const keyring = await loadKeyring(environment.secretKey, environment.dataDir);
    const parts = { keyring, data, settings, environment, stores: () => plugin.extensions(sealedStores) };
    return { secrets: keyring, rootKey: { rotate: () => rotate(parts) } };
  },
});
