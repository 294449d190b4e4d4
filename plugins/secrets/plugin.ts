import {
  commandLine,
  ConfigurationError,
  Data,
  defineCommand,
  definePlugin,
  Environment,
  Plugins,
  sealedStores,
  Secrets,
  Settings,
  Type,
} from 'parley-forum';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { RootKey, rootKeyRotated } from 'parley-forum/plugins/secrets';
import { loadKeyring } from './root-key.ts';
import { rotate } from './rotation.ts';

const secretRotate = defineCommand({
  name: 'secret rotate',
  summary: 'Makes a new root key and seals every stored secret with it.',
  options: Type.Object({
    force: Type.Boolean({ default: false, description: 'Also while plugins are off; what they have sealed is lost' }),
  }),
  needs: { rootKey: RootKey },
  async run({ rootKey }, { force }, console) {
    await rootKey.rotate({ force });
    console.print(
      'There is a new root key. Other processes of this site must be started anew; then members log in again, and links and forms made before no longer count.',
    );
  },
});

export default definePlugin({
  id: 'secrets',
  name: 'Secrets',
  version: '1.0.0',
  description: 'Encrypts secrets in the database, and signs tokens.',
  needs: { data: Data, environment: Environment, settings: Settings, plugins: Plugins },
  provides: { secrets: Secrets, rootKey: RootKey },
  hooks: [rootKeyRotated],
  extensionPoints: [sealedStores],
  commands: [secretRotate],

  async setup({ data, environment, settings, plugins }, plugin) {
    const keyring = await loadKeyring(environment.secretKey, environment.dataDir);
    const rotated = (): Promise<void> => plugin.emit(rootKeyRotated, {});
    const deps = { keyring, data, settings, environment, rotated, stores: () => plugin.extensions(sealedStores) };
    plugin.extend(
      auditRules,
      audited(rootKeyRotated, ['root-key.rotated'], () => ({ action: 'root-key.rotated', actor: commandLine })),
    );
    const rotateRoot: RootKey['rotate'] = async ({ force = false } = {}) => {
      // A plugin that is not running cannot reseal its secrets, and the key that opens them will be gone.
      const inactive = plugins
        .list()
        .filter(({ needs, state }) => needs.includes(plugin.id) && state !== 'active')
        .map(({ id }) => id);
      if (inactive.length > 0 && !force)
        throw new ConfigurationError(
          `What these plugins have sealed would be lost, since they do not run: ${inactive.join(', ')}. Switch them on first, or use --force`,
        );
      await rotate(deps);
    };
    return { secrets: keyring, rootKey: { rotate: rotateRoot } };
  },
});
