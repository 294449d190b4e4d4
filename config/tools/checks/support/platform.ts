/** Plugins that all others build on and may import. */
export const PLATFORM: readonly string[] = [
  'access',
  'accounts',
  'admin',
  'api',
  'cache',
  'limits',
  'markdown',
  'protection',
  'secrets',
  'web',
];
