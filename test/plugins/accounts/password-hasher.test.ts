import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { PasswordHasher } from '../../../plugins/accounts/passwords/password-hasher.ts';

const DEAR = 10;

describe('password hashing on its own threads', () => {
  let hasher: PasswordHasher;
  afterEach(() => hasher.close());

  it('hashes and verifies several passwords at once', async () => {
    hasher = new PasswordHasher(2);
    const hashes = await Promise.all(['one', 'two', 'three'].map((password) => hasher.hash(password, 4)));
    const right = hashes.map((hash, at) => hasher.compare(['one', 'two', 'three'][at]!, hash));
    expect(await Promise.all([...right, hasher.compare('two', hashes[0]!)])).toEqual([true, true, true, false]);
    expect(hashes.every((hash) => hash.startsWith('$2b$04$'))).toBe(true);
  });

  it('queues passwords, and refuses those beyond a limit with 503 and Retry-After', async () => {
    hasher = new PasswordHasher(1);
    const results = await Promise.allSettled(Array.from({ length: 40 }, () => hasher.hash('many', 4)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(33);
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as object] : []));
    expect(refused[0]).toMatchObject({ status: 503, headers: { 'Retry-After': '10' } });
    expect(await hasher.hash('later', 4)).toMatch(/^\$2b\$04\$/);
  });

  it('leaves file access its threads', async () => {
    hasher = new PasswordHasher(1);
    await hasher.hash('first', 4);
    let hashed = 0;
    const hashing = Promise.all(
      Array.from({ length: 20 }, async () => {
        await hasher.hash('busy', DEAR);
        hashed++;
      }),
    );
    for (let n = 0; n < 20; n++) await readFile(import.meta.filename);
    expect(hashed).toBeLessThan(20);
    await hashing;
  });

  it('rejects queued passwords when it closes, and accepts none afterwards', async () => {
    hasher = new PasswordHasher(1);
    const waiting = Promise.allSettled(Array.from({ length: 3 }, () => hasher.hash('late', DEAR)));
    await hasher.close();
    expect((await waiting).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    await expect(hasher.compare('late', 'x')).rejects.toMatchObject({ status: 503 });
  });
});
