import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { makeCacheFolder } from 'parley-forum';

/** One file of a tree before it is built: on disk, or text made by the server. */
export interface Source {
  /** Below the tree's URL. */
  readonly path: string;
  readonly file?: string;
  readonly text?: string;
  /** A browser module, in TypeScript: served as JavaScript under the same name. */
  readonly module?: boolean;
  /** Other files that a module may import: the tree's URL changes with them, too. */
  readonly imports?: readonly string[];
}

/** One file ready to be sent. */
export interface Asset {
  readonly path: string;
  readonly type: string;
  readonly body: Buffer;
  readonly gzip: Buffer | undefined;
  readonly brotli: Buffer | undefined;
}

/** Everything that may be served; a file of another kind is left out of its tree. */
export const CONTENT_TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  webmanifest: 'application/manifest+json',
  txt: 'text/plain; charset=utf-8',
  woff2: 'font/woff2',
  webp: 'image/webp',
  avif: 'image/avif',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  svg: 'image/svg+xml',
  ico: 'image/x-icon',
};
const COMPRESSIBLE = new Set(['css', 'js', 'json', 'txt', 'svg', 'webmanifest']);
/** Browsers in which every feature the pages' scripts use was there by November 2026 for two and a half years. */
const BROWSERS = ['chrome124', 'firefox125', 'safari17.4'];

export const extensionOf = (path: string): string => path.slice(path.lastIndexOf('.') + 1).toLowerCase();
const compress = { gzip: promisify(gzip), brotli: promisify(brotliCompress) };

/** Text that only changes with the code below, so that trees built by another version are built again. */
export const BUILD_VERSION = '1';

/**
 * The files of a tree, built once: modules through esbuild, styles minified, text compressed. What was written to
 * `cache` by an earlier start is read back and nothing is built.
 */
export async function build(sources: readonly Source[], cache: string): Promise<readonly Asset[]> {
  const made = await isBuilt(cache);
  if (made) return Promise.all(sources.map((source) => load(source, cache)));
  await makeCacheFolder(dirname(cache));
  const work = await mkdtemp(`${cache}.new-`);
  await bundleModules(
    sources.filter((source) => source.module),
    work,
  );
  for (const source of sources)
    if (!source.module && COMPRESSIBLE.has(extensionOf(source.path))) await minify(source, work);
  await writeFile(join(work, '.built'), '');
  // Another process may have finished first: its result is the same.
  await rename(work, cache).catch(() => rm(work, { recursive: true, force: true }));
  return Promise.all(sources.map((source) => load(source, cache)));
}

const isBuilt = (cache: string): Promise<boolean> =>
  readFile(join(cache, '.built')).then(
    () => true,
    () => false,
  );

export const servedPath = ({ path, module }: Source): string => (module ? path.replace(/\.ts$/, '.js') : path);

async function bundleModules(sources: readonly Source[], work: string): Promise<void> {
  if (sources.length === 0) return;
  // Imported here because loading it costs a third of a warm start, which has nothing to build.
  const { build: bundle } = await import('esbuild');
  await bundle({
    entryPoints: sources.map((source) => ({ in: source.file ?? '', out: servedPath(source).replace(/\.js$/, '') })),
    outdir: work,
    bundle: true,
    minify: true,
    format: 'esm',
    target: BROWSERS,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'silent',
    external: ['@forum/*', '@plugin/*'],
  });
  for (const source of sources)
    await writeCompressed(join(work, servedPath(source)), await readFile(join(work, servedPath(source))));
}

async function minify(source: Source, work: string): Promise<void> {
  const text = source.text ?? (await readFile(source.file ?? '', 'utf8'));
  const small = extensionOf(source.path) === 'css' ? await minifyCss(text) : text;
  await writeCompressed(join(work, source.path), Buffer.from(small));
}

async function minifyCss(text: string): Promise<string> {
  const { transform } = await import('esbuild');
  // No target: what a theme wrote stays as it is, only shorter.
  return (
    await transform(text, {
      loader: 'css',
      minify: true,
      charset: 'utf8',
      legalComments: 'none',
      logLevel: 'silent',
      target: 'esnext',
    })
  ).code;
}

async function writeCompressed(file: string, body: Buffer): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: body.length };
  const [gzipped, brotli] = await Promise.all([compress.gzip(body, { level: 9 }), compress.brotli(body, { params })]);
  await Promise.all([writeFile(file, body), writeFile(`${file}.gz`, gzipped), writeFile(`${file}.br`, brotli)]);
}

async function load(source: Source, cache: string): Promise<Asset> {
  const path = servedPath(source);
  const extension = extensionOf(path);
  const type = CONTENT_TYPES[extension] ?? 'application/octet-stream';
  if (!COMPRESSIBLE.has(extension))
    return { path, type, body: await readFile(source.file ?? ''), gzip: undefined, brotli: undefined };
  const file = join(cache, path);
  const [body, gzipped, brotli] = await Promise.all([readFile(file), readFile(`${file}.gz`), readFile(`${file}.br`)]);
  return { path, type, body, gzip: gzipped, brotli };
}

/**
 * Milliseconds after which a tree counts as stale: until then another process that shares this folder may still be
 * building it.
 */
const STALE_AFTER = 3_600_000;

/**
 * Removes trees that are no longer used, except for the newest previous version of each, which open tabs may request.
 */
export async function removeStaleTrees(
  folder: string,
  current: ReadonlySet<string>,
  entries: readonly { readonly name: string; readonly time: number }[],
): Promise<void> {
  const settled = Date.now() - STALE_AFTER;
  const old = entries
    .filter(({ name, time }) => !current.has(name) && time < settled)
    .sort((a, b) => b.time - a.time || a.name.localeCompare(b.name));
  const kept = new Set<string>();
  for (const { name } of old) {
    const owner = name.slice(0, name.lastIndexOf('@'));
    if (kept.has(owner)) await rm(join(folder, basename(name)), { recursive: true, force: true });
    else kept.add(owner);
  }
}
