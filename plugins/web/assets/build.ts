import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** One file of a tree before it is built: on disk, or text made by the server. */
export interface Source {
  /** Below the tree's address. */
  readonly path: string;
  readonly file?: string;
  readonly text?: string;
  /** A module of the browser's, in TypeScript: served as JavaScript under the same name. */
  readonly module?: boolean;
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
export const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
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
const SMALLER = new Set(['css', 'js', 'json', 'txt', 'svg']);
/** Browsers in which every feature the pages' scripts use was there by November 2026 for two and a half years. */
const BROWSERS = ['chrome124', 'firefox125', 'safari17.4'];

export const extensionOf = (path: string): string => path.slice(path.lastIndexOf('.') + 1).toLowerCase();
const compress = { gzip: promisify(gzip), brotli: promisify(brotliCompress) };

/** Text that only changes with the code below, so that trees built by another version are built again. */
export const BUILDER = '1';

/**
 * The files of a tree, built once: modules through esbuild, styles made smaller, text compressed. What was written to
 * `cache` by an earlier start is read back and nothing is built.
 */
export async function build(sources: readonly Source[], cache: string): Promise<readonly Asset[]> {
  const made = await readBuilt(cache);
  if (made) return Promise.all(sources.map((source) => load(source, cache)));
  await mkdir(dirname(cache), { recursive: true });
  const work = await mkdtemp(`${cache}.new-`);
  await modules(
    sources.filter((source) => source.module),
    work,
  );
  for (const source of sources) if (!source.module && SMALLER.has(extensionOf(source.path))) await shrink(source, work);
  await writeFile(join(work, '.built'), '');
  // Another one may have finished first: its result is the same.
  await rename(work, cache).catch(() => rm(work, { recursive: true, force: true }));
  return Promise.all(sources.map((source) => load(source, cache)));
}

const readBuilt = (cache: string): Promise<boolean> =>
  readFile(join(cache, '.built')).then(
    () => true,
    () => false,
  );

export const servedPath = ({ path, module }: Source): string => (module ? path.replace(/\.ts$/, '.js') : path);

async function modules(sources: readonly Source[], work: string): Promise<void> {
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
    await write(join(work, servedPath(source)), await readFile(join(work, servedPath(source))));
}

async function shrink(source: Source, work: string): Promise<void> {
  const text = source.text ?? (await readFile(source.file ?? '', 'utf8'));
  const small = extensionOf(source.path) === 'css' ? await smallerStyle(text) : text;
  await write(join(work, source.path), Buffer.from(small));
}

async function smallerStyle(text: string): Promise<string> {
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

async function write(file: string, body: Buffer): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: body.length };
  const [zipped, brotli] = await Promise.all([compress.gzip(body, { level: 9 }), compress.brotli(body, { params })]);
  await Promise.all([writeFile(file, body), writeFile(`${file}.gz`, zipped), writeFile(`${file}.br`, brotli)]);
}

async function load(source: Source, cache: string): Promise<Asset> {
  const path = servedPath(source);
  const extension = extensionOf(path);
  const type = TYPES[extension] ?? 'application/octet-stream';
  if (!SMALLER.has(extension))
    return { path, type, body: await readFile(source.file ?? ''), gzip: undefined, brotli: undefined };
  const file = join(cache, path);
  const [body, zipped, brotli] = await Promise.all([readFile(file), readFile(`${file}.gz`), readFile(`${file}.br`)]);
  return { path, type, body, gzip: zipped, brotli };
}

/**
 * Milliseconds after which nobody is still at a tree: until then it may be one that another process on this folder is
 * making.
 */
const SETTLED = 3_600_000;

/**
 * Removes trees that no longer belong to anything, but for the newest earlier generation of each, which open tabs may
 * ask for.
 */
export async function sweep(
  folder: string,
  current: ReadonlySet<string>,
  entries: readonly { readonly name: string; readonly time: number }[],
): Promise<void> {
  const settled = Date.now() - SETTLED;
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
