import { PassThrough, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { readInBatches, jsonList, type PersonalFile } from 'parley-forum/ports/personal-data';
import { sendArchive } from '../../../plugins/privacy/archive.ts';
import { unpack } from './forum.ts';

const never = new AbortController().signal;
const some = async function* (...files: readonly PersonalFile[]): AsyncGenerator<PersonalFile, void> {
  yield* files;
};
const packed = async (files: AsyncIterable<PersonalFile>): Promise<ReadonlyMap<string, string>> => {
  const out = new PassThrough();
  const [bytes] = await Promise.all([buffer(out), sendArchive(files, out, never)]);
  return unpack(bytes);
};

test('files are packed one after another, including empty ones', async () => {
  const content = async function* (): AsyncGenerator<string | Uint8Array, void> {
    yield 'one, ';
    yield Buffer.from('two');
  };
  const files = some(
    { path: 'a.txt', content: 'Ä' },
    { path: 'b/c.txt', content: content() },
    { path: 'd.txt', content: '' },
  );
  expect([...(await packed(files))]).toEqual([
    ['a.txt', 'Ä'],
    ['b/c.txt', 'one, two'],
    ['d.txt', ''],
  ]);
});

test('a list is read in batches and written as JSON, even when it is empty', async () => {
  const asked: (number | undefined)[] = [];
  const rows = readInBatches<{ id: number }>(async (after, limit) => {
    asked.push(after?.id);
    return Array.from({ length: Math.min(limit, 450 - (after?.id ?? 0)) }, (_, at) => ({
      id: (after?.id ?? 0) + at + 1,
    }));
  });
  const files = await packed(
    some({ path: 'rows.json', content: jsonList(rows) }, { path: 'none.json', content: jsonList([]) }),
  );
  expect((JSON.parse(files.get('rows.json')!) as object[]).length).toBe(450);
  expect([asked, JSON.parse(files.get('none.json')!)]).toEqual([[undefined, 200, 400], []]);
});

test('a failing file aborts the archive, and later files are not requested', async () => {
  let later = false;
  const failing = async function* (): AsyncGenerator<string, void> {
    yield 'begin';
    throw new Error('the database is gone');
  };
  const files = async function* (): AsyncGenerator<PersonalFile, void> {
    yield { path: 'a', content: failing() };
    later = true;
    yield { path: 'b', content: '' };
  };
  const out = new PassThrough().resume();
  await expect(sendArchive(files(), out, never)).rejects.toThrow('the database is gone');
  expect([later, out.writableFinished]).toEqual([false, false]);
});

test('a failing list of files aborts the archive', async () => {
  const files = async function* (): AsyncGenerator<PersonalFile, void> {
    yield { path: 'a', content: 'a' };
    throw new Error('no list');
  };
  await expect(sendArchive(files(), new PassThrough().resume(), never)).rejects.toThrow('no list');
});

test('a client that disconnects is not an error, and reading stops', async () => {
  let read = 0;
  let released = false;
  const endless = async function* (): AsyncGenerator<Buffer, void> {
    try {
      for (;;) {
        read++;
        yield Buffer.from(crypto.getRandomValues(new Uint8Array(50_000)));
      }
    } finally {
      released = true;
    }
  };
  let taken = 0;
  const out = new Writable({
    write(chunk: Buffer, _encoding, done) {
      taken += chunk.length;
      if (taken > 200_000) this.destroy();
      done();
    },
  });
  await sendArchive(some({ path: 'endless', content: endless() }), out, never);
  await expect.poll(() => released).toBe(true);
  const then = read;
  await new Promise(setImmediate);
  expect(read).toBe(then);
});

test('a client that reads nothing is waited for with bounded memory', async () => {
  let read = 0;
  const endless = async function* (): AsyncGenerator<Buffer, void> {
    for (;;) {
      read++;
      yield Buffer.from(crypto.getRandomValues(new Uint8Array(10_000)));
    }
  };
  const stop = new AbortController();
  const sending = sendArchive(
    some({ path: 'endless', content: endless() }),
    new Writable({ write: () => undefined }),
    stop.signal,
  );
  const still = async (): Promise<number> => {
    for (let turns = 0, before = -1; turns < 50; before = read) {
      turns = before === read ? turns + 1 : 0;
      await new Promise(setImmediate);
    }
    return read;
  };
  expect(await still()).toBeLessThan(100);
  stop.abort();
  await expect(sending).rejects.toThrow('aborted');
});
