import Handlebars from 'handlebars';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Helpers } from './helpers.ts';
import { shortPath, unusableTheme, type Theme } from '../themes/themes.ts';
import { TemplateError, validateTemplate } from './validate.ts';

type KnownHelpers = NonNullable<CompileOptions['knownHelpers']>;
export type Template = (model: unknown, options: { readonly data: object }) => string;

/** `@plugin/name` is a plugin's view; everything else belongs to themes. `parent:` names the version one step up. */
const VIEW = /^@([a-z][a-z0-9-]*)\/([a-z0-9/-]+)$/;
const OWN = /^[a-z0-9/-]+$/;
const PARENT = /(\{\{~?#?>\s*)parent:/g;
const LEVEL = /^from-(\d+):(.+)$/;

/**
 * Finds templates along the chain (theme, its parents, then the plugin that owns the name), checks them and compiles
 * them on first use. Each chain has an engine of its own, so that swapping themes is one pointer.
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
    for (const [name, helper] of Object.entries(helpers))
      this.#engine.registerHelper(name, helper as Handlebars.HelperDelegate);
  }

  /** Throws `TemplateError` for a name that leads nowhere or a template that breaks the rules. */
  get(name: string): Template {
    return this.#loaded.get(name) ?? this.#load(name, [], undefined);
  }

  /**
   * Reads and checks every template of the chain, including those a child overrides: later changes on disk
   * do not affect pages. Throws a `ConfigurationError` that names each one that is wrong.
   */
  loadAll(): void {
    const problems = new Set<string>();
    for (const [level, theme] of this.#chain.entries()) {
      for (const name of namesIn(theme)) {
        const view = VIEW.exec(name);
        if (view && !this.#folderOf(view[1] ?? '')) continue;
        try {
          this.get(this.#files(name, 0)[0]?.level === level ? name : `from-${level}:${name}`);
        } catch (error) {
          if (!(error instanceof TemplateError)) throw error;
          problems.add(error.message);
        }
      }
    }
    if (problems.size > 0) throw unusableTheme(this.#chain[0]?.id ?? '', [...problems].join('; '));
  }

  has(name: string): boolean {
    return this.#files(name, 0).length > 0;
  }

  /** `from`: the file and line that include it. */
  #load(name: string, above: readonly string[], from: readonly [string, number] | undefined): Template {
    if (above.includes(name))
      throw new TemplateError(...(from ?? [name, 1]), `includes itself: ${[...above, name].join(' → ')}`);
    const { file, level } = this.#find(name, from);
    const source = readFileSync(file, 'utf8').replace(PARENT, `$1from-${level + 1}:`);
    const { program, partials } = validateTemplate(shortPath(file), source, this.#known);
    for (const [partial, line] of partials)
      if (!this.#loaded.has(partial)) this.#load(partial, [...above, name], [shortPath(file), line]);
    const knownHelpers = Object.fromEntries([...this.#known].map((helper) => [helper, true]));
    const compiled = this.#engine.compile(program, {
      knownHelpersOnly: true,
      knownHelpers: knownHelpers as KnownHelpers,
      preventIndent: true,
    });
    const template: Template = (model, options) => compiled(model, options);
    this.#engine.registerPartial(name, compiled);
    this.#loaded.set(name, template);
    return template;
  }

  #find(name: string, from: readonly [string, number] | undefined): { readonly file: string; readonly level: number } {
    const leveled = LEVEL.exec(name);
    const [plain, least] = leveled ? [leveled[2] ?? '', Number(leveled[1])] : [name, 0];
    const found = this.#files(plain, least)[0];
    if (found) return found;
    throw new TemplateError(
      ...(from ?? [plain, 1]),
      `there is no template "${plain}"${leveled ? ' further up the chain' : ''}`,
    );
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

/** The names of a theme's own templates; files with other names cannot be referenced. */
function namesIn({ folder }: Theme): readonly string[] {
  const below = join(folder, 'templates');
  if (!existsSync(below)) return [];
  const files = readdirSync(below, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.hbs'))
    .sort();
  return files
    .map((file) => file.slice(0, -4).replace(/^plugins\/([^/]+)\//, '@$1/'))
    .filter((name) => VIEW.test(name) || OWN.test(name));
}
