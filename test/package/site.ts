import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/** The result of a program that has ended. */
export interface Outcome {
  readonly code: number;
  readonly output: string;
}

/** Variables of a basic shell environment, including those to reach the package registry, even behind a proxy. */
const INHERITED =
  /^(?:HOME|LANG|TMPDIR|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|\w+_proxy|npm_config_(?:registry|cache|cafile))$/i;

/** A user's environment, without what this repository and its tests add. */
const environment = Object.fromEntries(
  Object.entries(process.env)
    .filter(([name]) => INHERITED.test(name))
    .concat([
      [
        'PATH',
        (process.env['PATH'] ?? '')
          .split(':')
          .filter((path) => !path.startsWith(ROOT))
          .join(':'),
      ],
    ]),
);

export function run(folder: string, command: string, ...args: readonly string[]): Promise<Outcome> {
  return new Promise((done) => {
    execFile(command, args, { cwd: folder, env: environment, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      done({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr }),
    );
  });
}

/** Like `run`; throws with the output on failure. */
export async function succeed(folder: string, command: string, ...args: readonly string[]): Promise<string> {
  const { code, output } = await run(folder, command, ...args);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${output}`);
  return output;
}

/** A folder outside the repository in which the packed program was installed, and its tarball. */
export interface InstalledSite extends AsyncDisposable {
  readonly folder: string;
  readonly tarball: string;
  /** Runs `parley` and resolves to its result. */
  parley(...words: readonly string[]): Promise<Outcome>;
  /** Runs `parley` and resolves to its output; throws on failure. */
  command(...words: readonly string[]): Promise<string>;
  /** Packs a package of these files and resolves to the tarball. */
  pack(manifest: object, files: Readonly<Record<string, string>>): Promise<string>;
}

export async function installSite(): Promise<InstalledSite> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-site-'));
  const packages = await mkdtemp(join(tmpdir(), 'parley-packages-'));
  await succeed(ROOT, 'npm', 'run', 'build');
  const [{ filename }] = JSON.parse(
    await succeed(ROOT, 'npm', 'pack', './dist', '--json', '--silent', '--pack-destination', packages),
  ) as [{ filename: string }];
  const tarball = join(packages, filename);
  await succeed(folder, 'npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', tarball);
  // npx would run the same file, a second later.
  const parley = join(folder, 'node_modules/.bin/parley');
  await succeed(folder, parley, 'new', '.');
  let packed = 0;
  return {
    folder,
    tarball,
    parley: (...words) => run(folder, parley, ...words),
    command: (...words) => succeed(folder, parley, ...words),
    async pack(manifest, files) {
      const at = join(packages, String(packed++), 'package');
      const all = { ...files, 'package.json': JSON.stringify({ type: 'module', ...manifest }) };
      for (const [path, text] of Object.entries(all)) {
        await mkdir(dirname(join(at, path)), { recursive: true });
        await writeFile(join(at, path), text);
      }
      // The result of `npm pack`, a second sooner.
      await succeed(dirname(at), 'tar', '-czf', 'package.tgz', 'package');
      return join(dirname(at), 'package.tgz');
    },
    async [Symbol.asyncDispose]() {
      for (const path of [folder, packages]) await rm(path, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** A site that is served by `npm start`. */
export interface RunningSite extends AsyncDisposable {
  readonly url: string;
  /** The server's log so far. */
  log(): string;
}

export async function startSite(folder: string, script = 'start'): Promise<RunningSite> {
  const port = await freePort();
  const child = spawn('npm', ['run', script], {
    cwd: folder,
    env: { ...environment, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (more: string) => (text += more));
  await listening(child, () => text);
  return {
    url: `http://127.0.0.1:${port}`,
    log: () => text,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'close');
      process.kill(-child.pid!, 'SIGTERM');
      await ended;
    },
  };
}

async function listening(child: ChildProcess, said: () => string): Promise<void> {
  for (const end = Date.now() + 90_000; !said().includes('"listening"');) {
    if (child.exitCode !== null || Date.now() > end) throw new Error(`the site did not start:\n${said()}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** The `dependencies` in a site's package.json. */
export async function dependenciesOf(folder: string): Promise<Readonly<Record<string, string>>> {
  return (JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { dependencies: Record<string, string> })
    .dependencies;
}
