import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { filesBelow } from '../assets/assets.ts';
import type { Theme } from './themes.ts';

const COMMENT = /\/\*[^]*?\*\//g;
/** A file that is named from where the style sheet is: no other site, no data, nothing of the page itself. */
const FILE = /url\(\s*(["']?)(?![a-z][a-z0-9+.-]*:|\/|#)([^"')?#\s]+)[^"')]*\1\s*\)/gi;

/**
 * Where style sheets of a theme name files that nobody gets: they are not there, or of a kind that is not served. All
 * sheets are served as one, in `assets/css`.
 */
export function unservedFiles(theme: Theme): readonly string[] {
  const assets = join(theme.folder, 'assets');
  const served = new Set(filesBelow(assets).map(({ path }) => path));
  return (theme.styles ?? []).flatMap((style) => {
    const file = join(assets, style);
    if (!existsSync(file)) return [];
    const text = readFileSync(file, 'utf8').replace(COMMENT, (comment) => comment.replace(/[^\n]/g, ' '));
    return [...text.matchAll(FILE)].flatMap(({ index, 2: name = '' }) => {
      const path = posix.join('css', name);
      if (served.has(path)) return [];
      const why = existsSync(join(assets, path))
        ? 'is of a kind that is not served; fonts are .woff2, pictures .svg, .png, .jpg, .webp, .avif, .gif or .ico'
        : `is not there; addresses in style sheets count from assets/css`;
      return `themes/${theme.id}/assets/${style}:${text.slice(0, index).split('\n').length}: names "${name}", which ${why}`;
    });
  });
}
