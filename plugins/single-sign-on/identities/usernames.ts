import type { Accounts } from 'parley-forum/plugins/accounts';

/** Characters that a username has at least, and at most. */
const [SHORTEST, LONGEST] = [3, 30];
/** Names that are tried where the first is taken. */
const TRIES = 20;

/** As near to what somebody is called elsewhere as a username can be; undefined where nothing of it can stay. */
export function fittedUsername(name: string): string | undefined {
  const fitted = name
    .split('@', 1)[0]!
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/ß/g, 'ss')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .slice(0, LONGEST)
    .replace(/^[._-]+|[._-]+$/g, '');
  return fitted.length < SHORTEST ? undefined : fitted;
}

/** The same with a number, where another member has it. */
export async function freeUsername(name: string, accounts: Pick<Accounts, 'idsByUsername'>): Promise<string> {
  const fitted = fittedUsername(name);
  if (fitted === undefined) return '';
  const names = [fitted, ...Array.from({ length: TRIES }, (_, at) => `${fitted.slice(0, LONGEST - 3)}-${at + 2}`)];
  const taken = await accounts.idsByUsername(names);
  return names.find((one) => !taken.has(one.toLowerCase())) ?? '';
}
