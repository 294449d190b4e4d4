import semver from 'semver';
import { PluginError } from '../errors.ts';
import type { Plugin } from './definition.ts';

/** Something with a version that a plugin was made for a range of. */
export interface Contract {
  readonly name: string;
  readonly version: string;
}

/** Throws where a plugin was made for other versions of a contract, saying what it wants, what there is, and which is older. */
export function assertFit(plugin: string, version: string, range: string, { name, version: have }: Contract): void {
  if (semver.satisfies(have, range, { includePrerelease: true })) return;
  const outdated = semver.validRange(range) !== null && semver.gtr(have, range);
  throw new PluginError(
    plugin,
    `${version} is made for ${name} ${range}, and this is ${name} ${have}; update ${outdated ? 'the plugin' : name}`,
  );
}

/** Throws where a plugin was made for other versions of those that are installed beside it. */
export function assertContracts(
  { id, version = '', requires = {} }: Pick<Plugin, 'id' | 'version' | 'requires'>,
  installed: readonly Plugin[],
): void {
  for (const [name, range] of Object.entries(requires)) {
    const other = installed.find((plugin) => plugin.id === name || plugin.package === name);
    if (other) assertFit(id, version, range, { name, version: other.version ?? '0.0.0' });
  }
}
