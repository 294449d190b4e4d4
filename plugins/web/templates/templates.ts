import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { compileTemplate, linkTemplate, type Partial, type Template, type TemplateCode } from './compile.ts';
import type { Helpers } from './helpers.ts';
import { shortPath, unusableTheme, type Theme } from '../themes/themes.ts';
import { TemplateError, validateTemplate, type ValidatedTemplate } from './validate.ts';

/**
 * `@plugin/name` is a plugin's view; all other names belong to themes. `parent:` refers to the version one level up.
 */
const VIEW = /^@([a-z][a-z0-9-]*)\/([a-z0-9/-]+)$/;
const OWN = /^[a-z0-9/-]+$/;
const PARENT = /(\{\{~?#?>\s*)parent:/g;
const LEVEL = /^from-(\d+):(.+)$/;
const LAYOUT = 'layout';
/** Without one of these, every page lacks it, including the panel's pages on which another theme could be chosen. */
const PRINTED_BY_LAYOUT = ['head', 'body', 'foot'];

type Contents = Pick<ValidatedTemplate, 'partials' | 'prints' | 'slots'>;
type CheckedTemplate = Contents & { readonly code: TemplateCode };

/**
 * Templates that were checked before, by file and text. All are read again whenever a plugin starts or stops, and
 * nearly all are unchanged: checking and compiling them again would block the event loop for a tenth of a second.
 */
const CHECKED = new LRUCache<string, CheckedTemplate>({ max: 2_000 });

/** `known`: names of helpers, the same for all templates. */
function checked(file: string, source: string, known: ReadonlySet<string>): CheckedTemplate {
  const key = `${file}\0${source}`;
  const before = CHECKED.get(key);
  if (before) return before;
  const { program, ...contents } = validateTemplate(file, source, known);
  const template = { ...contents, code: compileTemplate(program, known) };
  CHECKED.set(key, template);
  return template;
}

/**
 * Looks up templates along the chain (the theme, its parents, then the plugin that owns the name), checks them and
 * compiles them on first use. Each chain has its own instance, so that switching themes is a single assignment.
 */
export class Templates {
  readonly #chain: readonly Theme[];
  readonly #folderOf: (plugin: string) => string | undefined;
  readonly #helpers: Helpers;
  readonly #known: ReadonlySet<string>;
  readonly #loaded = new Map<string, Partial>();
  readonly #contents = new Map<string, Contents>();

  constructor(chain: readonly Theme[], helpers: Helpers, folderOf: (plugin: string) => string | undefined) {
    this.#chain = chain;
    this.#folderOf = folderOf;
    this.#helpers = helpers;
    this.#known = new Set(Object.keys(helpers));
  }

  /** Throws `TemplateError` for an unknown name or a template that breaks the rules. */
  get(name: string): Template {
    const { render } = this.#get(name);
    return (model, page) => render(model, page, undefined, model);
  }

  /** Whether a template reads page data that belongs to one viewer. */
  isPersonal(name: string): boolean {
    return this.#get(name).personal;
  }

  #get(name: string): Partial {
    return this.#loaded.get(name) ?? this.#load(name, [], undefined);
  }

  /**
   * Reads and checks every template of the chain, including those a child overrides, so that later changes on disk do
   * not affect pages. Throws a `ConfigurationError` that lists every template that is wrong.
   */
  loadAll(): void {
    const problems = new Set<string>();
    for (const [level, theme] of this.#chain.entries()) {
      for (const name of this.#usedOf(theme)) {
        try {
          this.get(this.#files(name, 0)[0]?.level === level ? name : `from-${level}:${name}`);
        } catch (error) {
          if (!(error instanceof TemplateError)) throw error;
          problems.add(error.message);
        }
      }
    }
    if (problems.size === 0) for (const problem of this.#layoutProblems()) problems.add(problem);
    if (problems.size > 0) throw unusableTheme(this.#chain[0]?.id ?? '', ...problems);
  }

  /**
   * Slots that are lost because a template of the first theme replaces one that has them: the output of plugins for
   * them is not shown.
   */
  missingSlots(): readonly string[] {
    const [theme] = this.#chain;
    if (!theme) return [];
    const own = this.#usedOf(theme);
    // A slot may have moved to another template.
    const kept = new Set(own.flatMap((name) => this.#slots(name)));
    const replaced = own.filter((name) => this.#files(name, 1).length > 0);
    return replaced.flatMap((name) =>
      [...new Set(this.#slots(`from-1:${name}`))]
        .filter((id) => !kept.has(id))
        .map(
          (id) =>
            `${shortPath(this.#find(name, undefined).file)}: has no {{slot "${id}" …}}, unlike the template that it replaces; what plugins add there is not shown`,
        ),
    );
  }

  /** Names of a theme's templates, without those for plugins that are off. */
  #usedOf(theme: Theme): readonly string[] {
    return namesIn(theme).filter((name) => {
      const [, plugin] = VIEW.exec(name) ?? [];
      return plugin === undefined || this.#folderOf(plugin) !== undefined;
    });
  }

  /** The slots of a template and of the templates it includes. */
  #slots(name: string): readonly string[] {
    this.#get(name);
    const { slots, partials } = this.#contents.get(name)!;
    return [...slots, ...[...partials.keys()].flatMap((partial) => this.#slots(partial))];
  }

  has(name: string): boolean {
    return this.#files(name, 0).length > 0;
  }

  #layoutProblems(): readonly string[] {
    const missing = PRINTED_BY_LAYOUT.filter((what) => !this.#prints(LAYOUT, what)).map((what) => `{{${what}}}`);
    if (missing.length === 0) return [];
    return [
      `${shortPath(this.#find(LAYOUT, undefined).file)}:1: must print ${missing.join(', ')}, itself or in a partial`,
    ];
  }

  /** Whether a template, or one that it includes, prints `what`. */
  #prints(name: string, what: string): boolean {
    const { partials, prints } = this.#contents.get(name) ?? {};
    return prints?.has(what) || [...(partials?.keys() ?? [])].some((partial) => this.#prints(partial, what));
  }

  /** `from`: the file and line that include it. */
  #load(name: string, above: readonly string[], from: readonly [string, number] | undefined): Partial {
    if (above.includes(name))
      throw new TemplateError(...(from ?? [name, 1]), `includes itself: ${[...above, name].join(' → ')}`);
    const { file, level } = this.#find(name, from);
    const source = readFileSync(file, 'utf8').replace(PARENT, `$1from-${level + 1}:`);
    const { code, ...contents } = checked(shortPath(file), source, this.#known);
    for (const [partial, line] of contents.partials)
      if (!this.#loaded.has(partial)) this.#load(partial, [...above, name], [shortPath(file), line]);
    const template = linkTemplate(code, this.#helpers, (partial) => this.#loaded.get(partial)!);
    this.#loaded.set(name, template);
    this.#contents.set(name, contents);
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
