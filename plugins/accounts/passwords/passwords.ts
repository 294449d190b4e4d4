import bcrypt from 'bcrypt';
import { readFileSync } from 'node:fs';
import { sql, type Clock, type Data, type FieldProblem } from 'parley-forum';
import type { PasswordPolicy } from 'parley-forum/plugins/accounts';
import type { PasswordHasher } from './password-hasher.ts';

/** bcrypt ignores further bytes, so longer passwords are rejected instead of truncated. In UTF-8 bytes. */
const MAX_BYTES = 72;

/** Shared by the server's check and the form's pattern; both use these regular expressions with the `v` flag. */
const CHARACTER_CLASSES = [
  { pattern: String.raw`\p{Ll}`, name: 'a lowercase letter', label: 'accounts:rule.lower' },
  { pattern: String.raw`\p{Lu}`, name: 'an uppercase letter', label: 'accounts:rule.upper' },
  { pattern: String.raw`\p{Nd}`, name: 'a digit', label: 'accounts:rule.digit' },
  { pattern: String.raw`[^\p{L}\p{N}\s]`, name: 'a special character', label: 'accounts:rule.special' },
] as const;
const CHECKS = CHARACTER_CLASSES.map(({ pattern, name }) => ({ expression: new RegExp(pattern, 'v'), name }));

/** Characters commonly substituted for letters. */
const SUBSTITUTIONS: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'l',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '8': 'b',
  '@': 'a',
  $: 's',
  '!': 'i',
  '|': 'l',
  '+': 't',
};

const COMMON = new Set(
  readFileSync(new URL('common-passwords.txt', import.meta.url), 'utf8')
    .split(/\s+/)
    .filter(Boolean),
);

/**
 * The cores of a password: what is left without the digits and signs around it, which everyone adds because the policy
 * requires them.
 */
function cores(password: string): readonly string[] {
  const lower = password.toLowerCase();
  const bare = lower.replace(/^[^\p{L}]+|[^\p{L}]+$/gv, '');
  const undone = (text: string): string => text.replace(/[^\p{L}]/gv, (sign) => SUBSTITUTIONS[sign] ?? '');
  const trimmed = lower.replace(/^[\d\W_]*?(?=[\p{L}@$0-9])|[\d\W_]+$/gv, '');
  return [
    lower,
    lower.replace(/[^\p{L}\p{N}]/gv, ''),
    bare,
    bare.replace(/[^\p{L}]/gv, ''),
    undone(bare),
    undone(trimmed),
    undone(lower),
  ];
}

/** "passwordpassword" is no better than "password". */
const unrepeated = (text: string): string =>
  text.length % 2 === 0 && text.slice(0, text.length / 2) === text.slice(text.length / 2)
    ? text.slice(0, text.length / 2)
    : text;

/**
 * True if the password is on the list of common ones, even with digits and signs around it or substituted for letters.
 */
const isCommon = (password: string): boolean =>
  cores(password).some((core) => COMMON.has(core) || COMMON.has(unrepeated(core)));

export interface PasswordSettings {
  readonly 'security.password_min_length': number;
  readonly 'security.bcrypt_cost': number;
}

export interface PasswordsDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly settings: PasswordSettings;
  readonly hasher: PasswordHasher;
}

/** Milliseconds for which the most frequent hash cost is cached. */
const COST_CACHE_TIME = 600_000;
/** Number of accounts sampled to find it in a large forum. */
const SAMPLE_SIZE = 10_000;

/** The password policy, and bcrypt with the configured cost. */
export class Passwords {
  readonly #deps: PasswordsDeps;
  #commonCost: { readonly until: number; readonly cost: Promise<number | undefined> } | undefined;

  constructor(deps: PasswordsDeps) {
    this.#deps = deps;
  }

  get policy(): PasswordPolicy {
    const minimum = this.#minimum;
    const length = { pattern: `.{${minimum},}`, label: 'accounts:rule.length' };
    return {
      minimum,
      pattern: `${CHARACTER_CLASSES.map(({ pattern }) => `(?=.*${pattern})`).join('')}${length.pattern}`,
      rules: [length, ...CHARACTER_CLASSES.map(({ pattern, label }) => ({ pattern, label }))],
    };
  }

  /** `own`: names of the person, which must not be used as the password. */
  problems(password: string, own: readonly string[] = []): readonly FieldProblem[] {
    const missing = CHECKS.filter(({ expression }) => !expression.test(password)).map(({ name }) => name);
    const messages = [
      ...([...password].length < this.#minimum ? [`must have at least ${this.#minimum} characters`] : []),
      ...(Buffer.byteLength(password) > MAX_BYTES
        ? [`must have at most ${MAX_BYTES} bytes (letters with accents count as two or more)`]
        : []),
      ...(missing.length > 0 ? [`must contain ${missing.join(', ')}`] : []),
    ];
    if (messages.length === 0 && isCommon(password)) messages.push('is too common; choose another');
    if (messages.length === 0 && own.some((name) => name.length > 2 && cores(password).includes(name.toLowerCase())))
      messages.push('must not be your name');
    return messages.map((message) => ({ field: 'password', message }));
  }

  hash(password: string): Promise<string> {
    return this.#deps.hasher.hash(password, this.#cost);
  }

  /** Takes the same time for an account that does not exist (`undefined`) as for a wrong password. */
  async verify(password: string, hash: string | undefined): Promise<boolean> {
    const known = hash?.startsWith('$2') ? hash : undefined;
    const dummy = await this.#dummyHash();
    const matches = await this.#deps.hasher.compare(password, known ?? dummy);
    return known !== undefined && matches && Buffer.byteLength(password) <= MAX_BYTES;
  }

  /** True if the hash has a lower cost than the configured one. */
  needsRehash(hash: string): boolean {
    return bcrypt.getRounds(hash) < this.#cost;
  }

  get #minimum(): number {
    return this.#deps.settings['security.password_min_length'];
  }

  get #cost(): number {
    return this.#deps.settings['security.bcrypt_cost'];
  }

  /**
   * A well-formed hash of an unknown password with the cost that most members' hashes have, so that timing does not
   * reveal whether a member exists.
   */
  async #dummyHash(): Promise<string> {
    const now = this.#deps.clock.now();
    if (!this.#commonCost || now >= this.#commonCost.until)
      this.#commonCost = { until: now + COST_CACHE_TIME, cost: this.#findCommonCost() };
    const cached = this.#commonCost;
    try {
      return `$2b$${String((await cached.cost) ?? this.#cost).padStart(2, '0')}$Qm9hdHNBcmVGdW5Ub0RvTePRgKq5V4Wf7hNmY2xUo8sZbTdLcJr0i`;
    } catch (error) {
      if (this.#commonCost === cached) this.#commonCost = undefined;
      throw error;
    }
  }

  /**
   * After the setting changes, hashes are only updated as members log in. The sample is no larger for a million
   * accounts than for a few thousand.
   */
  async #findCommonCost(): Promise<number | undefined> {
    const found = await this.#deps.data.one(sql<{ cost: number }>`select substr(password_hash, 5, 2)::int as cost
      from account tablesample system ((select least(100, 100 * ${SAMPLE_SIZE}::float8 / greatest(reltuples, 1))
          from pg_class where oid = 'account'::regclass))
      where password_hash like '$2%' group by 1 order by count(*) desc, 1 desc limit 1`);
    return found?.cost;
  }
}
