import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Allowance, Bucket } from 'parley-forum/plugins/limits';
import { Authenticator, type AuthenticatorDeps } from '../../../plugins/accounts/login/authenticator.ts';

/** Counters shared by several processes. */
function sharedLimits(): AuthenticatorDeps['limits'] {
  const used = new Map<string, number>();
  const state = ({ name }: Bucket, key: string, limit: number, more: number): Promise<Allowance> => {
    const count = (used.get(`${name} ${key}`) ?? 0) + more;
    used.set(`${name} ${key}`, count);
    return Promise.resolve({
      allowed: more > 0 ? count <= limit : count < limit,
      limit,
      remaining: Math.max(0, limit - count),
      resetAt: Date.now() + 60_000,
    });
  };
  return {
    ipKey: (address: string) => address,
    consume: (bucket: Bucket, key: string, limit: number) => state(bucket, key, limit, 1),
    peek: (bucket: Bucket, key: string, limit: number) => state(bucket, key, limit, 0),
    reset: ({ name }: Bucket, key: string) => (used.delete(`${name} ${key}`), Promise.resolve()),
  } as unknown as AuthenticatorDeps['limits'];
}

test('guesses sent to several processes at once are limited as in a single process', async () => {
  const limits = sharedLimits();
  let looked = 0;
  const passwords = { verify: async () => (looked++, await wait(20), false) };
  const settings = { 'login.rate_limit': 1_000, 'login.account_rate_limit': 10, 'login.attempt_rate_limit': 1_000 };
  const parts = {
    limits,
    passwords,
    settings,
    accounts: { credentials: () => undefined },
    emit: () => Promise.resolve(),
    log: { info: () => undefined },
  };
  const processes = [1, 2, 3].map(() => new Authenticator(parts as unknown as AuthenticatorDeps));
  const guesses = Array.from({ length: 36 }, (_, n) =>
    processes[n % 3]!.authenticate('nobody', `guess-${n}`, `198.51.100.${n}`),
  );
  const answers = await Promise.allSettled(guesses);
  expect(looked).toBe(10);
  expect(
    answers.filter((answer) => answer.status === 'rejected' && (answer.reason as { status: number }).status === 429),
  ).toHaveLength(26);
});
