import { registerHooks } from 'node:module';

/** What a reloaded package's address ends in: `?generation=2`. */
const GENERATION = /\?generation=\d+$/;
const OWN = /^(\.|\/|file:)/;

/**
 * Makes `parley-forum` mean the program that runs, for every module of the process, whatever copy lies in a plugin's
 * node_modules: two copies would each have errors and classes of their own. Modules of a package that is loaded anew
 * are loaded anew with it.
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
