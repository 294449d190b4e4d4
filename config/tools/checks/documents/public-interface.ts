import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import semver from 'semver';
import { breaksBetween, type Break } from '../../api/compare.ts';
import { readReport } from '../../api/report.ts';
import { NOT_EXPORTED, type Module } from '../../api/surface.ts';
import { REFERENCE } from '../../reference/markdown.ts';
import type { Check } from '../support/check.ts';

const REPORT = `${REFERENCE}/api-report.md`;
/** The API report of the last released version; each release replaces it. */
const RELEASED = 'config/tools/api/released.md';
const PROGRAM = 'parley-forum';

/**
 * Changes since the last release that break plugins must be reflected in the versions of their module and of the
 * package, and named in the changelog. docs/stability.md defines what counts as a break.
 */
export const publicInterface: Check = {
  name: 'public interface',
  async run(root) {
    const [released, report] = [RELEASED, REPORT].map((path) => join(root, path)) as [string, string];
    const absent = [RELEASED, REPORT].filter((path) => !existsSync(join(root, path)));
    if (absent.length > 0)
      return absent.map((path) => `${path}: is missing; the public interface cannot be compared without it`);
    const [before, now] = [released, report].map((file) => readReport(readFileSync(file, 'utf8'))) as [
      readonly Module[],
      readonly Module[],
    ];
    const breaks = breaksBetween(before, now);
    const changes = sectionOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), versionOf(now, PROGRAM));
    return [
      ...unraised(breaks, before, now),
      ...[...Map.groupBy(breaks, ({ declaration }) => declaration)]
        .filter(([declaration]) => !changes.includes(`\`${declaration}\``))
        .map(
          ([declaration, [{ module, what } = { module: '', what: '' }, ...more]]) =>
            `${module}: ${what}${more.length > 0 ? `, and ${more.length} more` : ''}; name \`${declaration}\` in CHANGELOG.md under ## ${versionOf(now, PROGRAM)}, with its replacement`,
        ),
      ...breaks
        .filter(
          ({ what, announced }) =>
            what.startsWith('removes') && !announced && semver.major(versionOf(before, PROGRAM)) > 0,
        )
        .map(
          ({ module, what }) => `${module}: ${what}, which the last release did not mark @deprecated; mark it first`,
        ),
    ];
  },
};

const versionOf = (modules: readonly Module[], name: string): string =>
  modules.find((module) => module.name === name)?.version || '0.0.0';

/** The changelog's section about a version. */
function sectionOf(changelog: string, version: string): string {
  return changelog.split(/^## /m).find((section) => section.split(/[\s(]/)[0] === version) ?? '';
}

/** The modules with breaks, and the package, whose versions were not raised accordingly. */
function unraised(breaks: readonly Break[], before: readonly Module[], now: readonly Module[]): readonly string[] {
  const modules = new Set(breaks.flatMap(({ module }) => [module === NOT_EXPORTED ? PROGRAM : module, PROGRAM]));
  return [...modules].flatMap((name) => {
    const [old, current] = [versionOf(before, name), versionOf(now, name)];
    const least = semver.inc(old, semver.major(old) === 0 ? 'minor' : 'major')!;
    if (semver.gte(current, least) || !now.some((module) => module.name === name)) return [];
    const at =
      name === PROGRAM || name === `${PROGRAM}/testing`
        ? 'package.json'
        : `${name.replace(`${PROGRAM}/`, '')}/plugin.ts`;
    return [`${at}: ${name} ${current} is incompatible with ${old}; its version must be at least ${least}`];
  });
}
