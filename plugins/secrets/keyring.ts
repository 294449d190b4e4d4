import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { ConfigurationError, type Secrets } from 'parley-forum';

/** A keyring whose root can be replaced at runtime. Each purpose has its own key (HKDF-SHA256). */
export interface Keyring extends Secrets {
  /**
   * Seals and signs with `root` from now on; anything sealed or signed with earlier roots remains valid until the
   * process ends.
   */
  replace(root: string): void;
}

const VERSION = 'v1';

/** Uses AES-256-GCM and HMAC-SHA256. `root` and `previous` are root secrets as text. */
export function createKeyring(root: string, previous?: string): Keyring {
  let keyOf = keysOf(root);
  let rings = previous === undefined ? [keyOf] : [keyOf, keysOf(previous)];
  return {
    sign: (purpose, text) => keyOf(purpose).sign(text),
    verify: (purpose, text, signature) => rings.some((ring) => equal(ring(purpose).sign(text), signature)),
    seal(text) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', keyOf('seal').bytes, nonce, { authTagLength: 16 });
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return `${VERSION}.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')}`;
    },
    open(sealed) {
      for (const ring of rings) {
        const text = decrypt(ring('seal').bytes, sealed);
        if (text !== undefined) return text;
      }
      throw new ConfigurationError(
        'A stored secret cannot be decrypted: SECRET_KEY is not the key it was encrypted with, or the secret was changed. Restore the old key.',
      );
    },
    replace(fresh) {
      keyOf = keysOf(fresh);
      rings = [keyOf, ...rings];
    },
  };
}

interface PurposeKey {
  readonly bytes: Buffer;
  sign(text: string): string;
}

/** Purposes are constants in the code, never input, so that only few keys are cached here. */
function keysOf(root: string): (purpose: string) => PurposeKey {
  const keys = new Map<string, PurposeKey>();
  return (purpose) => {
    const stored = keys.get(purpose);
    if (stored) return stored;
    const bytes = Buffer.from(hkdfSync('sha256', root, 'parley', purpose, 32));
    // Every guest page needs a signature: given bytes, Node would create a key object each time, which takes seven
    // times as long as everything else.
    const signingKey = createSecretKey(bytes);
    const sign = (text: string): string => createHmac('sha256', signingKey).update(text).digest('base64url');
    const key = { bytes, sign };
    keys.set(purpose, key);
    return key;
  };
}

function equal(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function decrypt(key: Buffer, sealed: string): string | undefined {
  const [version, packed = ''] = sealed.split('.');
  if (version !== VERSION) return undefined;
  try {
    const bytes = Buffer.from(packed, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 }).setAuthTag(
      bytes.subarray(12, 28),
    );
    return decipher.update(bytes.subarray(28), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    // Wrong key or corrupt data: the tag does not tell which.
    return undefined;
  }
}
