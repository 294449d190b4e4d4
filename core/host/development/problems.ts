import { readFileSync } from 'node:fs';
import { basename, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { PROGRAM, SITE } from '../site.ts';

/** An error that the plugin's developer can fix. */
export interface Problem {
  /** The operation that failed: `a request failed`. */
  readonly what: string;
  readonly plugin: string | undefined;
  /** The messages of the error and its causes. */
  readonly message: string;
  /** Relative to the site's or the program's folder; undefined if unknown. */
  readonly file: string | undefined;
  readonly line: number | undefined;
  /** The lines around the error, with their numbers. */
  readonly excerpt: readonly { readonly number: number; readonly text: string }[];
}

/** Number of lines shown before and after the faulty one. */
const AROUND = 3;
/** Maximum number of problems: any more are most likely consequences of the same mistake. */
const MOST = 10;

/** Errors logged since the last file change. */
export class Problems {
  #problems: readonly Problem[] = [];
  /** The root causes of the problems: an error logged by several parts is only one problem. */
  #roots = new Set<unknown>();
  readonly #watchers = new Set<() => void>();

  /** Calls `changed` after each change of the list. */
  watch(changed: () => void): void {
    this.#watchers.add(changed);
  }

  list(): readonly Problem[] {
    return this.#problems;
  }

  clear(): void {
    this.#roots = new Set();
    this.#set([]);
  }

  /** Wraps a logger to collect the errors logged through it. */
  listenTo(log: Logger, fields: { readonly plugin?: string } = {}): Logger {
    return {
      debug: (more, message) => log.debug(more, message),
      info: (more, message) => log.info(more, message),
      warn: (more, message) => log.warn(more, message),
      error: (more, message) => {
        log.error(more, message);
        const { error, plugin } = { ...fields, ...more } as { error?: unknown; plugin?: string };
        if (error !== undefined) this.#add(message, plugin, error);
      },
      child: (more) => this.listenTo(log.child(more), { ...fields, ...more }),
    };
  }

  #add(what: string, plugin: string | undefined, error: unknown): void {
    const causes = causesOf(error);
    const root = causes.at(-1);
    if (this.#roots.has(root) || this.#problems.length === MOST) return;
    this.#roots.add(root);
    const errors = causes.toReversed().filter((cause) => cause instanceof Error);
    const place = [...errors.map(statedPlace), ...errors.map(thrownAt)].find((found) => found !== undefined);
    const messages = causes.map(messageOf);
    const message = messages
      .filter((text, at) => !messages.slice(0, at).some((one) => one.includes(text)))
      .join('\n← ');
    const [file, line] = [place && shortPath(place.file), place?.line];
    // The same mistake makes every request fail.
    if (this.#problems.some((one) => one.message === message && one.file === file && one.line === line)) return;
    const excerpt = place?.line === undefined ? [] : excerptOf(place.file, place.line);
    this.#set([...this.#problems, { what, plugin, message, file, line, excerpt }]);
  }

  #set(problems: readonly Problem[]): void {
    this.#problems = problems;
    for (const changed of this.#watchers) changed();
  }
}

/** The error and its causes, outermost first. */
function causesOf(error: unknown): readonly unknown[] {
  const causes: unknown[] = [];
  for (let at = error; at !== undefined && !causes.includes(at); at = at instanceof Error ? at.cause : undefined)
    causes.push(at);
  return causes;
}

interface Place {
  readonly file: string;
  readonly line: number | undefined;
}

/** The location that an error itself gives for the mistake, which is more precise than where it was thrown. */
const statedPlace = (error: Error): Place | undefined =>
  placeOfBuild(error) ?? placeInMessage(error.message) ?? placeOfImport(error);

/** The location from the fields of a bundler's error. */
function placeOfBuild(error: Error): Place | undefined {
  const { errors } = error as { errors?: ReadonlyArray<{ location?: { file: string; line: number } | null }> };
  const location = Array.isArray(errors) ? errors[0]?.location : undefined;
  return location ? { file: resolve(location.file), line: location.line } : undefined;
}

/**
 * The location at the start of a message, as in `themes/plain/tokens.json:3: …`, from checks of files that are not
 * code.
 */
function placeInMessage(message: string): Place | undefined {
  const [, path = '', line] = /(?:^|[\s:(])((?:[\w@.-]+\/)+[\w@.-]+\.\w+)(?::(\d+))?: /.exec(message) ?? [];
  const file = [SITE, PROGRAM].map((root) => `${root}${sep}${path}`).find((one) => path !== '' && readable(one));
  return file === undefined ? undefined : { file, line: line === undefined ? undefined : Number(line) };
}

/** For a missing module, Node names the importing file but not the line. */
function placeOfImport({ message }: Error): Place | undefined {
  const [, missing = '', importer] = /^Cannot find (?:module|package) '(.+?)' imported from (.+)$/.exec(message) ?? [];
  if (importer === undefined) return undefined;
  const file = importer.startsWith('file:') ? fileURLToPath(importer) : importer;
  const at = linesOf(file).findIndex((line) => line.includes(basename(missing)));
  return { file, line: at < 0 ? undefined : at + 1 };
}

/** The first stack frame in a plugin, or else in core; frames in packages and in unreadable files are skipped. */
function thrownAt({ stack = '' }: Error): Place | undefined {
  const found = [...stack.matchAll(/(file:\/\/[^\s()?]+)(?:\?[\w=&]+)?:(\d+)/g)]
    .map(([, url = '', line]) => ({ file: fileURLToPath(url), line: Number(line) }))
    .filter(({ file }) => !file.includes(`${sep}node_modules${sep}`) && readable(file));
  const core = `${PROGRAM}${sep}core${sep}`;
  return found.find(({ file }) => !file.startsWith(core)) ?? found[0];
}

const readable = (file: string): boolean => linesOf(file).length > 0;

function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return [];
  }
}

const excerptOf = (file: string, line: number): Problem['excerpt'] =>
  linesOf(file)
    .map((text, at) => ({ number: at + 1, text }))
    .slice(Math.max(0, line - 1 - AROUND), line + AROUND);

function shortPath(file: string): string {
  const root = [SITE, PROGRAM].find((folder) => file.startsWith(folder + sep));
  return root === undefined ? file : relative(root, file);
}
