import semver from 'semver';
import { PluginError } from '../errors.ts';
import type { Plugin } from './definition.ts';

/** Something versioned that a plugin declares a supported range for. */
export interface Contract {
  readonly name: string;
  readonly version: string;
}

/** Throws if the version is outside the range, naming the range, the version found, and which of the two to update. */
export function assertFit(plugin: string, version: string, range: string, { name, version: have }: Contract): void {
  if (semver.satisfies(have, range, { includePrerelease: true })) return;
  const outdated = semver.validRange(range) !== null && semver.gtr(have, range);
  throw new PluginError(
    plugin,
    `${version} is made for ${name} ${range}, but this is ${name} ${have}; update ${outdated ? 'the plugin' : name}`,
  );
}

/** Throws if a plugin does not support the version of another installed plugin. */
export function assertContracts(
  { id, version = '', requires = {} }: Pick<Plugin, 'id' | 'version' | 'requires'>,
  installed: readonly Plugin[],
): void {
  for (const [name, range] of Object.entries(requires)) {
    const other = installed.find((plugin) => plugin.id === name || plugin.package === name);
    if (other) assertFit(id, version, range, { name, version: other.version ?? '0.0.0' });
  }
}
