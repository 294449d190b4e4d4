import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Check } from '../support/check.ts';
import { readFiles, type SourceFile } from '../support/files.ts';
import { identifiersOf, parseSource, placeOf } from '../support/source.ts';

/** Words once peculiar to this project, each with the common term to use instead. */
const REPLACEMENTS = new Map(
  [
    ['absence absences', 'backfill'],
    ['deed deeds', 'moderation log, action'],
    ['discretion discretions', 'hidden members'],
    ['dress dressing', 'build'],
    ['emptying', 'redaction'],
    ['entrance', 'login flow'],
    ['farewell', 'logout notice'],
    ['fleet', 'cluster'],
    ['forgetting', 'retention'],
    ['gathering', 'batcher'],
    ['keeper', 'maintenance'],
    ['lane lanes', 'queue, key'],
    ['mirror mirrors mirrored', 'projection'],
    ['mould moulds', 'template'],
    ['nobody', 'no one, none'],
    ['patience', 'timeout'],
    ['replay', 'cached response, repeat'],
    ['restraint restraints', 'sanction'],
    ['retyped', 'form draft'],
    ['sighting sightings', 'visit'],
    ['silence', 'watchdog, outage'],
    ['stray', 'unhandled rejection'],
    ['sweep sweeping', 'cleanup'],
    ['tell telling told untold', 'notify, send, publish'],
    ['tend tending', 'maintenance, cleanup'],
    ['tidy tidying', 'cleanup'],
    ['unbury', 'unmark deleted'],
    ['upkeep', 'vacuum, maintenance'],
    ['whereabouts', 'page visibility'],
    ['whoever', 'user, caller'],
    ['workshop', 'worker, thread'],
    ['worn', 'current, previous'],
  ].flatMap(([words = '', replacement = '']) => words.split(' ').map((word) => [word, replacement] as const)),
);
const GLOSSARY = 'docs/glossary.md';
const ROW = /^\| \*\*(.+?)\*\* \| .+ \| (.+) \|$/;

/** File names and identifiers must use the terms of docs/glossary.md, which lists each term once with its location. */
export const glossary: Check = {
  name: 'glossary',
  async run(root) {
    const files = readFiles(root, ['core', 'plugins', 'themes', 'config', 'test'], /\.ts$/);
    return [...files.flatMap((file) => [...ofFile(file), ...ofIdentifiers(file)]), ...ofTerms(root)];
  },
};

function ofFile({ path }: SourceFile): readonly string[] {
  return replacementsIn(basename(path, '.ts')).map((advice) => `${path}: ${advice}`);
}

function ofIdentifiers(file: SourceFile): readonly string[] {
  const source = parseSource(file);
  return identifiersOf(source).flatMap((name) =>
    replacementsIn(name.text).map((advice) => `${placeOf(source, name.getStart(source))}: ${advice}`),
  );
}

/** Splits names into words: `MAX_waitTime` into max, wait and time. */
function replacementsIn(name: string): readonly string[] {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);
  return words
    .filter((word) => REPLACEMENTS.has(word))
    .map((word) => `"${name}": "${word}" is not a term of the glossary; use ${REPLACEMENTS.get(word)}`);
}

/** Each term must be listed once, in alphabetical order, with a path that exists. */
function ofTerms(root: string): readonly string[] {
  if (!existsSync(join(root, GLOSSARY))) return [];
  const rows = readFileSync(join(root, GLOSSARY), 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      const [, term = '', where = ''] = ROW.exec(line) ?? [];
      return term === '' ? [] : [{ term, where, at: `${GLOSSARY}:${index + 1}` }];
    });
  return rows.flatMap(({ term, where, at }, index) => {
    const previous = rows[index - 1]?.term;
    const misplaced = previous !== undefined && previous.localeCompare(term, 'en', { sensitivity: 'base' }) >= 0;
    const missing = [...where.matchAll(/`([^`]+)`/g)].flatMap(([, path = '']) =>
      existsSync(join(root, path)) ? [] : [`${at}: "${term}" names ${path}, which does not exist`],
    );
    return [
      ...(misplaced
        ? [`${at}: "${term}" comes after "${previous}"; list the terms in alphabetical order, each once`]
        : []),
      ...missing,
    ];
  });
}
