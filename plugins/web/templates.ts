import Handlebars from 'handlebars';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Helpers } from './helpers.ts';
import type { Theme } from './themes.ts';
import { TemplateError, validate } from './validate.ts';

type KnownHelpers = NonNullable<CompileOptions['knownHelpers']>;
export type Template = (model: unknown, options: { readonly data: object }) => string;

/** `@plugin/name` is a plugin's view; everything else belongs to themes. `parent:` names the version one step up. */
const VIEW = /^@([a-z][a-z0-9-]*)\/([a-z0-9/-]+)$/;
const OWN = /^[a-z0-9/-]+$/;
const PARENT = /(\{\{~?#?>\s*)parent:/g;
const LEVEL = /^from-(\d+):(.+)$/;

/** Bytes of one rendered template above which something has gone wrong. */
export const LARGEST_PAGE = 2 * 1024 * 1024;

/**
 * Finds templates along the chain (theme, its parents, then the plugin that owns the name), checks them and compiles
 * them when they are first asked for. Each chain has an engine of its own, so that swapping themes is one pointer.
 */
export class Templates {
  readonly #chain: readonly Theme[];
  readonly #folderOf: (plugin: string) => string | undefined;
  readonly #known: ReadonlySet<string>;
  readonly #engine = Handlebars.create();
  readonly #loaded = new Map<string, Template>();

  constructor(chain: readonly Theme[], helpers: Helpers, folderOf: (plugin: string) => string | undefined) {
    this.#chain = chain;
    this.#folderOf = folderOf;
    this.#known = new Set(Object.keys(helpers));
    this.#engine.unregisterHelper('log');
    for (const [name, helper] of Object.entries(helpers)) this.#engine.registerHelper(name, helper as Handlebars.HelperDelegate);
  }

  /** Throws `TemplateError` for a name that leads nowhere or a template that breaks the rules. */
  get(name: string): Template {
    return this.#loaded.get(name) ?? this.#load(name, []);
  }

  has(name: string): boolean {
    return this.#files(name, 0).length > 0;
  }

  #load(name: string, above: readonly string[]): Template {
    if (above.includes(name)) throw new TemplateError(name, 1, `includes itself: ${[...above, name].join(' → ')}`);
    const { file, level } = this.#find(name, above.at(-1));
    const source = readFileSync(file, 'utf8').replace(PARENT, `$1from-${level + 1}:`);
    const { partials } = validate(shown(file), source, this.#known);
    for (const partial of partials) if (!this.#loaded.has(partial)) this.#load(partial, [...above, name]);
    const knownHelpers = Object.fromEntries([...this.#known].map((helper) => [helper, true]));
    const compiled = this.#engine.compile(source, { knownHelpersOnly: true, knownHelpers: knownHelpers as KnownHelpers, preventIndent: true });
    const template: Template = (model, options) => compiled(model, options);
    this.#engine.registerPartial(name, compiled);
    this.#loaded.set(name, template);
    return template;
  }

  #find(name: string, from: string | undefined): { readonly file: string; readonly level: number } {
    const leveled = LEVEL.exec(name);
    const [plain, least] = leveled ? [leveled[2] ?? '', Number(leveled[1])] : [name, 0];
    const found = this.#files(plain, least)[0];
    if (found) return found;
    throw new TemplateError(from ?? plain, 1, `there is no template "${plain}"${leveled ? ' further up the chain' : ''}`);
  }

  #files(name: string, least: number): readonly { readonly file: string; readonly level: number }[] {
    const view = VIEW.exec(name);
    if (!view && !OWN.test(name)) return [];
    const inTheme = view ? `plugins/${view[1]}/${view[2]}.hbs` : `${name}.hbs`;
    const files = this.#chain.map((theme, level) => ({ file: join(theme.folder, 'templates', inTheme), level }));
    const owner = view && this.#folderOf(view[1] ?? '');
    if (owner) files.push({ file: join(owner, 'views', `${view[2]}.hbs`), level: this.#chain.length });
    return files.filter(({ file, level }) => level >= least && existsSync(file));
  }
}

/** Enough of the path to find the file, without where this machine keeps the forum. */
const shown = (file: string): string => file.split('/').slice(-5).join('/');
