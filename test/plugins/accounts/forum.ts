import { resolve } from 'node:path';
import configuration from '../../../config/forum.ts';
import { createLogger } from '../../../core/host/logger.ts';
import { loadPlugins } from '../../../core/host/loader.ts';
import type { Plugin } from 'parley-forum';
import { startForum, type TestForum, type TestForumOptions } from 'parley-forum/testing';

const ROOT = resolve(import.meta.dirname, '../../..');

/** The whole forum, and plugins of the test's own. */
export async function openForum({
  extra = [],
  ...options
}: TestForumOptions & { readonly extra?: readonly Plugin[] } = {}): Promise<TestForum> {
  if (extra.length === 0) return startForum(options);
  const plugins = await loadPlugins(ROOT, configuration.plugins, createLogger({ level: 'silent' }));
  const settings = {
    'login.attempt_rate_limit': 100_000,
    'email.mx_validation': false,
    'registration.rate_limit': 100_000,
    ...options.settings,
  };
  return startForum({ ...options, settings, plugins: [...plugins, ...extra] });
}
