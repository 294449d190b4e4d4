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
  summary: 'Generates a new root key and re-encrypts every stored secret with it.',
  options: Type.Object({
    force: Type.Boolean({
      default: false,
      description: 'Rotate even while plugins are off; their stored secrets are lost',
    }),
  }),
  needs: { rootKey: RootKey },
  async run({ rootKey }, { force }, console) {
    await rootKey.rotate({ force });
    console.print(
      'There is a new root key. Restart the other processes of this site; members then have to log in again, and existing links and forms are no longer valid.',
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
          `The stored secrets of these plugins would be lost because they are not running: ${inactive.join(', ')}. Switch them on first, or use --force`,
        );
      await rotate(deps);
    };
    return { secrets: keyring, rootKey: { rotate: rotateRoot } };
  },
});
