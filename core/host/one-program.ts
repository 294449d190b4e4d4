import { registerHooks } from 'node:module';

/** The suffix of a reloaded package's URL: `?generation=2`. */
const GENERATION = /\?generation=\d+$/;
const OWN = /^(\.|\/|file:)/;

/**
 * Makes `parley-forum` resolve to the running program for every module of the process, whichever copy a plugin has in
 * its node_modules: a second copy would have error classes of its own. When a package is reloaded, its modules are
 * reloaded with it.
 */
registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'parley-forum' || specifier.startsWith('parley-forum/'))
      return next(specifier, { ...context, parentURL: import.meta.url });
    const generation = GENERATION.exec(context.parentURL ?? '')?.[0];
    const resolved = next(specifier, context);
    return generation !== undefined && OWN.test(specifier)
      ? { ...resolved, url: `${resolved.url}${generation}` }
      : resolved;
  },
});
