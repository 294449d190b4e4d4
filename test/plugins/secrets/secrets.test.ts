import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigurationError } from 'parley-forum';
import { createKeyring } from '../../../plugins/secrets/keyring.ts';
import { loadKeyring } from '../../../plugins/secrets/root-key.ts';

const KEY = 'a root secret that the operator chose';
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secrets-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('a sealed text', () => {
  it('can be opened again, and looks different each time', () => {
    const secrets = createKeyring(KEY);
    const text = 'whsec_grün ☂';
    expect(secrets.open(secrets.seal(text))).toBe(text);
    expect(secrets.open(secrets.seal(''))).toBe('');
    expect(secrets.seal(text)).not.toBe(secrets.seal(text));
    expect(secrets.seal(text)).not.toContain('whsec');
  });

  it('cannot be opened with another key, and the error names SECRET_KEY', () => {
    const sealed = createKeyring(KEY).seal('text');
    expect(() => createKeyring('quite another root secret').open(sealed)).toThrow(ConfigurationError);
    expect(() => createKeyring('quite another root secret').open(sealed)).toThrow(/SECRET_KEY/);
  });

  it('cannot be opened if changed, truncated or never sealed', () => {
    const secrets = createKeyring(KEY);
    const sealed = secrets.seal('text');
    const bytes = Buffer.from(sealed.slice(3), 'base64url');
    const changed = Buffer.from(bytes);
    changed[30] = changed[30]! ^ 1;
    const broken = [
      `v1.${changed.toString('base64url')}`,
      `v1.${bytes.subarray(0, 20).toString('base64url')}`,
      `v2${sealed.slice(2)}`,
      'v1.',
      '',
      'text',
    ];
    for (const text of broken) expect(() => secrets.open(text), text).toThrow(ConfigurationError);
  });
});

describe('a signature', () => {
  const secrets = createKeyring(KEY);

  it('is valid only for the same purpose and text', () => {
    const signature = secrets.sign('form', 'text');
    expect(secrets.verify('form', 'text', signature)).toBe(true);
    expect(secrets.verify('form', 'other', signature)).toBe(false);
    expect(secrets.verify('cookie', 'text', signature)).toBe(false);
    expect(createKeyring('quite another root secret').verify('form', 'text', signature)).toBe(false);
    const wrong = ['', signature.slice(1), `${signature}A`, `${signature}=`, 'ü'.repeat(43)];
    for (const other of wrong) expect(secrets.verify('form', 'text', other), other).toBe(false);
  });

  it('is the same in every process with the same key', () => {
    expect(createKeyring(KEY).sign('form', 'text')).toBe(secrets.sign('form', 'text'));
    expect(secrets.sign('form', 'text')).toMatch(/^[\w-]{43}$/);
  });
});

describe('after a rotation', () => {
  it('the previous key still opens and verifies, and the new key seals and signs', () => {
    const old = createKeyring(KEY);
    const both = createKeyring('the root secret after it', KEY);
    const sealed = old.seal('text');
    expect(both.open(sealed)).toBe('text');
    expect(both.verify('form', 'text', old.sign('form', 'text'))).toBe(true);
    expect(createKeyring('the root secret after it').open(both.seal(both.open(sealed)))).toBe('text');
    expect(old.verify('form', 'text', both.sign('form', 'text'))).toBe(false);
  });
});

describe('the root secret', () => {
  it('is created once, with access for its owner only, even when several processes start at once', async () => {
    const data = join(folder, 'new', 'data');
    const all = await Promise.all(Array.from({ length: 8 }, () => loadKeyring(undefined, data)));
    expect(new Set(all.map((secrets) => secrets.sign('form', 'text'))).size).toBe(1);
    expect((await loadKeyring(undefined, data)).sign('form', 'text')).toBe(all[0]!.sign('form', 'text'));
    expect(await readdir(data)).toEqual(['secret.key']);
    expect((await stat(join(data, 'secret.key'))).mode & 0o777).toBe(0o600);
  });

  it('is SECRET_KEY if set, and then no file is written', async () => {
    const data = join(folder, 'unused');
    const secrets = await loadKeyring(KEY, data);
    expect(secrets.sign('form', 'text')).toBe(createKeyring(KEY).sign('form', 'text'));
    await expect(stat(data)).rejects.toThrow('ENOENT');
  });

  it('is refused if too short, wherever it comes from', async () => {
    await expect(loadKeyring('secret', folder)).rejects.toThrow(/SECRET_KEY has fewer than 32/);
    await writeFile(join(folder, 'secret.key'), '');
    await expect(loadKeyring(undefined, folder)).rejects.toThrow(/secret\.key has fewer than 32/);
  });
});
