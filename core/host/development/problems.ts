import { readFileSync } from 'node:fs';
import { basename, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { PROGRAM, SITE } from '../site.ts';

/** Something that went wrong and that whoever writes the code can mend. */
export interface Problem {
  /** What could not be done: `a request failed`. */
  readonly what: string;
  readonly plugin: string | undefined;
  /** What the error says, and what the errors that it followed from say. */
  readonly message: string;
  /** From the site's or the program's folder; undefined where it is not known. */
  readonly file: string | undefined;
  readonly line: number | undefined;
  /** The lines around it, each with its number. */
  readonly excerpt: readonly { readonly number: number; readonly text: string }[];
}

/** Lines that are shown before and after the one at fault. */
const AROUND = 3;
/** More at a time are the same mistake seen from elsewhere. */
const MOST = 10;

/** The errors that were logged since the last change of a file. */
export class Problems {
  #problems: readonly Problem[] = [];
  /** What each of them followed from: one error that several parts log is one problem. */
  #roots = new Set<unknown>();
  readonly #watchers = new Set<() => void>();

  /** Calls `changed` after each change. */
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

  /** A log that reads along. */
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
    // One mistake fails each request.
    if (this.#problems.some((one) => one.message === message && one.file === file && one.line === line)) return;
    const excerpt = place?.line === undefined ? [] : excerptOf(place.file, place.line);
    this.#set([...this.#problems, { what, plugin, message, file, line, excerpt }]);
  }

  #set(problems: readonly Problem[]): void {
    this.#problems = problems;
    for (const changed of this.#watchers) changed();
  }
}

/** Outermost first. */
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

/** What an error says itself of the file that is wrong, which is more than where it was thrown. */
const statedPlace = (error: Error): Place | undefined =>
  placeOfBuild(error) ?? placeInMessage(error.message) ?? placeOfImport(error);

/** Bundlers say it in fields. */
function placeOfBuild(error: Error): Place | undefined {
  const { errors } = error as { errors?: ReadonlyArray<{ location?: { file: string; line: number } | null }> };
  const location = Array.isArray(errors) ? errors[0]?.location : undefined;
  return location ? { file: resolve(location.file), line: location.line } : undefined;
}

/** `themes/plain/tokens.json:3: …`, as checks of what is not code begin. */
function placeInMessage(message: string): Place | undefined {
  const [, path = '', line] = /(?:^|[\s:(])((?:[\w@.-]+\/)+[\w@.-]+\.\w+)(?::(\d+))?: /.exec(message) ?? [];
  const file = [SITE, PROGRAM].map((root) => `${root}${sep}${path}`).find((one) => path !== '' && readable(one));
  return file === undefined ? undefined : { file, line: line === undefined ? undefined : Number(line) };
}

/** Of a module that is not there Node names who imports it, and not where. */
function placeOfImport({ message }: Error): Place | undefined {
  const [, missing = '', importer] = /^Cannot find (?:module|package) '(.+?)' imported from (.+)$/.exec(message) ?? [];
  if (importer === undefined) return undefined;
  const file = importer.startsWith('file:') ? fileURLToPath(importer) : importer;
  const at = linesOf(file).findIndex((line) => line.includes(basename(missing)));
  return { file, line: at < 0 ? undefined : at + 1 };
}

/** The first line of a stack that lies in what somebody here wrote; a file that cannot be read is its first line. */
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
