import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCacheFolder, sql, type Data } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { miscounted, startForum, type TestForum } from 'parley-forum/testing';
import { FULL } from '../kit/full.ts';
import { runCommand } from '../../core/cli/run-command.ts';
import { openArchive } from '../../core/host/backup/archive.ts';
import { restore } from '../../core/host/backup/restore.ts';
import { openDatabase } from '../../core/host/databases/open.ts';
import { loadPlugins } from '../../core/host/loader.ts';
import { readConfiguration, SITE } from '../../core/host/site.ts';
import { makeTestPlace, onServer, testLog, type TestPlace } from '../kit/database.ts';

const PASSWORD = 'Plain-Sailing-42';
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let [folder, file] = ['', ''];
let forum: TestForum;
let [discussion, picture]: string[] = [];
let printed: readonly string[] = [];
let before: ReadonlyMap<string, readonly string[]>;
const made: AsyncDisposable[] = [];

/** The sorted rows of each table except the one that identifies the installation. */
async function rowsIn(data: Data): Promise<ReadonlyMap<string, readonly string[]>> {
  const tables = await data.all(sql<{ name: string }>`select relname as name from pg_class
    where relkind = 'r' and relnamespace = current_schema()::regnamespace and relname <> 'installation' order by relname`);
  const rows = new Map<string, readonly string[]>();
  for (const { name } of tables)
    rows.set(
      name,
      (await data.all(sql<{ row: string }>`select t::text as row from ${sql.table(name)} t order by 1`)).map(
        ({ row }) => row,
      ),
    );
  return rows;
}

const run = async (site: TestForum, ...words: readonly string[]): Promise<readonly string[]> => {
  const lines: string[] = [];
  const nothing = (): void => undefined;
  const secret = () => Promise.resolve(undefined);
  await runCommand(site.app, words, {
    terminal: false,
    columns: 80,
    print: (line) => lines.push(line),
    progress: nothing,
    secret,
  });
  return lines;
};

async function restoreTo(place: TestPlace, path = file, more: { without?: string[]; also?: string } = {}) {
  const { plugins: ids } = await readConfiguration(SITE);
  const plugins = await loadPlugins(
    SITE,
    ids.filter((id) => id !== more.also),
    testLog,
  );
  const { environment } = forum.app;
  return restore(path, {
    environment: { ...environment, dataDir: place.folder, databaseUrl: place.url },
    plugins,
    without: more.without ?? [],
    log: testLog,
    progress: () => undefined,
  });
}

/** Removed at the end. */
async function emptyPlace(embedded = !onServer): Promise<TestPlace> {
  const place = await makeTestPlace(undefined, { embedded });
  await rm(join(place.folder, 'database'), { recursive: true, force: true });
  made.push({ [Symbol.asyncDispose]: () => place.remove() });
  return place;
}

async function openAt({ folder: dataDir, url: databaseUrl }: TestPlace): Promise<TestForum> {
  const opened = await startForum({ environment: { dataDir, databaseUrl } });
  made.push(opened);
  return opened;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-backup-'));
  file = join(folder, 'forum.zip');
  forum = await startForum();
  const accounts = forum.app.service(Accounts);
  for (const username of ['ada', 'bob'])
    await accounts.create({ username, email: `${username}@forum.test`, password: PASSWORD, groupId: 'member' });
  const ada = forum.client();
  await ada.login('ada', PASSWORD);
  const form = new FormData();
  form.set('file', new Blob([PICTURE], { type: 'image/png' }), 'keel.png');
  picture = (await ada.request('POST', '/api/uploads', { body: form })).body.upload.url as string;
  const content = `The keel\n\n![keel](${picture})\n\nA "quoted" \\ line, @bob, and 🚢\u2028on.`;
  const started = await ada.post('/api/discussions', {
    title: 'Keels',
    content,
    category_id: 'general',
    tags: ['wood'],
  });
  discussion = started.body.discussion.id as string;
  for (let at = 0; at < 250; at++)
    await ada.post('/api/posts', { discussion_id: discussion, content: `Plank ${at}: ${'oak '.repeat(at % 40)}` });
  await forum.calm();
  await forum.app.jobs.stop();
  await mkdir(join(forum.app.environment.dataDir, 'themes/mine'), { recursive: true });
  await writeFile(join(forum.app.environment.dataDir, 'themes/mine/note.txt'), 'kept');
  await makeCacheFolder(join(forum.app.environment.dataDir, 'assets'));
  await writeFile(join(forum.app.environment.dataDir, 'assets/made.css'), 'a {}');
  // A stored JSON null is not the same as no value.
  await forum.app.data.all(sql`update setting set value = 'null'::jsonb where key = 'site.name'`);
  before = await rowsIn(forum.app.data);
  printed = await run(forum, 'backup', file);
});

afterAll(async () => {
  for (const one of made.toReversed()) await one[Symbol.asyncDispose]();
  await forum[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

describe('a backup', () => {
  test('is one file that only its owner can read, and prints a summary of its content', async () => {
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['forum.zip']);
    expect(printed.join('\n')).toMatch(/forum\.zip: \d+ tables, [\d,]+ rows/);
    expect(printed.join('\n')).toContain('SECRET_KEY');
  });

  test('contains the files in DATA_DIR, but neither the database nor anything that can be regenerated', async () => {
    await using archive = await openArchive(file);
    const files = archive.names.filter((name) => name.startsWith('files/'));
    expect(files).toContain('files/themes/mine/note.txt');
    expect(files.filter((name) => /^files\/uploads\/.+/.test(name))).not.toEqual([]);
    expect(files.filter((name) => /^files\/(database|assets|public|parley\.sock)/.test(name))).toEqual([]);
  });

  test('overwrites nothing, and cannot be written where the next backup would include it', async () => {
    const before = await readFile(file);
    await expect(run(forum, 'backup', file)).rejects.toThrow('already exists');
    expect((await readFile(file)).equals(before)).toBe(true);
    const inside = join(forum.app.environment.dataDir, 'uploads', 'forum.zip');
    await expect(run(forum, 'backup', inside)).rejects.toThrow('choose another place');
    await expect(run(forum, 'backup', join(folder, 'no/such/forum.zip'))).rejects.toThrow('no/such');
    expect(await readdir(folder)).toEqual(['forum.zip']);
  });
});

describe('a restored forum', () => {
  let place: TestPlace;
  let restored: TestForum;
  let rows: ReadonlyMap<string, readonly string[]>;
  beforeAll(async () => {
    place = await emptyPlace();
    await restoreTo(place);
    const data = await openDatabase({ url: place.url, folder: place.folder, log: testLog });
    rows = await rowsIn(data).finally(() => data.close());
    restored = await openAt(place);
  });

  test('has all rows unchanged, but is a new installation', async () => {
    expect([...rows]).toEqual([...before]);
    expect(await restored.app.data.identity()).not.toBe(await forum.app.data.identity());
    expect(await miscounted(restored)).toEqual([]);
  });

  test('serves its files, accepts existing passwords and continues its numbering', async () => {
    expect(await readFile(join(place.folder, 'themes/mine/note.txt'), 'utf8')).toBe('kept');
    const ada = restored.client();
    expect((await ada.get(new URL(picture!).pathname)).status).toBe(200);
    await ada.login('ada', PASSWORD);
    const answer = await ada.post('/api/posts', { discussion_id: discussion, content: 'Another plank' });
    expect(answer.body.post).toMatchObject({ number: 252 });
    const next = await ada.post('/api/discussions', { title: 'Masts', content: 'Pine', category_id: 'general' });
    expect(next.body.discussion).toMatchObject({ number: 2 });
    expect(await miscounted(restored)).toEqual([]);
  });

  test.runIf(FULL)('can be backed up and restored to the other kind of database', async () => {
    const second = join(folder, 'second.zip');
    await run(restored, 'backup', second);
    const other = await makeTestPlace(undefined, { embedded: true });
    made.push({ [Symbol.asyncDispose]: () => other.remove() });
    await rm(join(other.folder, 'database'), { recursive: true, force: true });
    await restoreTo(other, second);
    const embedded = await openAt(other);
    expect((await embedded.client().get(`/api/discussions/${discussion}`)).body.discussion.reply_count).toBe(251);
    expect(await miscounted(embedded)).toEqual([]);
  });
});

describe('restoring', () => {
  test('refuses a database or a DATA_DIR that is not empty, and leaves it unchanged', async () => {
    const { environment } = forum.app;
    const used = { folder: environment.dataDir, url: environment.databaseUrl, remove: () => Promise.resolve() };
    await expect(restoreTo(used)).rejects.toThrow('DATA_DIR is not empty');
    const other = await makeTestPlace(undefined);
    made.push({ [Symbol.asyncDispose]: () => other.remove() });
    await restoreTo({ ...other, folder: join(other.folder, 'one') });
    const again = restoreTo({ ...other, folder: onServer ? join(other.folder, 'two') : join(other.folder, 'one') });
    await expect(again).rejects.toThrow(/is not empty/);
  });

  test('refuses an invalid or incomplete backup before anything is written', async () => {
    const whole = await readFile(file);
    const [cut, damaged] = [join(folder, 'cut.zip'), join(folder, 'damaged.zip')];
    await writeFile(cut, whole.subarray(0, whole.length / 2));
    const place = await emptyPlace();
    await expect(restoreTo(place, cut)).rejects.toThrow('is incomplete');
    await expect(restoreTo(place, join(folder, 'nothing.zip'))).rejects.toThrow('There is no file');
    await copyFile(join(SITE, 'package.json'), join(folder, 'text.zip'));
    await expect(restoreTo(place, join(folder, 'text.zip'))).rejects.toThrow('it is not a backup');
    for (const at of [200, whole.length >> 1]) {
      await writeFile(damaged, Buffer.from(whole).fill(0, at, at + 60));
      await expect(restoreTo(place, damaged)).rejects.toThrow('is incomplete');
    }
    expect(await readdir(place.folder)).toEqual([]);
  });

  test('requires the plugins whose tables are in the backup, or leaves their data out on request', async () => {
    const place = await emptyPlace();
    await expect(restoreTo(place, file, { also: 'bookmarks' })).rejects.toThrow(
      'tables of the plugin "bookmarks", which is not installed here; install it, or leave out its data with --without bookmarks',
    );
    await restoreTo(place, file, { also: 'bookmarks', without: ['bookmarks'] });
    const restored = await openAt(place);
    expect((await restored.client().get(`/api/discussions/${discussion}`)).status).toBe(200);
    expect(await restored.app.data.all(sql`select 1 from bookmark`)).toEqual([]);
  });
});
